"""scan_check.cpp, built and run: the scanners of this machine, and those of AArch64 under an emulator.

As a program it builds and runs it with other compilers, emulators and arguments:

    python tests/scan/test_scan_check.py [--compiler aarch64-linux-gnu-g++] [--emulator qemu-aarch64] [ARGUMENT...]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
AARCH64 = ("aarch64-linux-gnu-g++", "qemu-aarch64")
MIXED = (
    "The quick brown fox, it's 2024! Съешь же ещё этих мягких французских булок. 我们去北京。你呢…… "
    "Ελληνικά κείμενα — الأرقام ١٢٣ والنص。 हिन्दी में लिखा हुआ पाठ। 한국어 문장입니다. ひらがなとカタカナ、ABC。\r\n"
)
"""A text of each script that a window meets, in sentences."""


def simd_flags() -> dict[str, list[str]]:
    """The flags that setup.py has for each suffix. (Importing it would build.)"""
    text = (ROOT / "setup.py").read_text()
    names: dict[str, Any] = {"MSVC": False}
    exec(text[text.index("AVX2_FLAGS = ") : text.index("COMMON_FLAGS = ")], names)
    return dict(names["SIMD_FLAGS"])


def build(compiler: str, target: Path) -> Path:
    """The program, from the scanners and what they need alone."""
    library = ROOT / "cpp" / "src"
    sources = [library / "support" / "cpu.cpp", library / "unicode" / "unicode.cpp"]
    sources += [*sorted((library / "scan").glob("*.cpp")), Path(__file__).with_name("scan_check.cpp")]
    x86_64 = "aarch64" not in compiler and os.uname().machine in ("x86_64", "amd64")
    common = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/cpp/include", f"-I{ROOT}/cpp/src"]
    objects = []
    for source in sources:
        extra = [f for suffix, flags in simd_flags().items() if x86_64 and source.name.endswith(suffix) for f in flags]
        objects.append(str(target / f"{source.stem}.o"))
        subprocess.run([compiler, *common, *extra, "-c", str(source), "-o", objects[-1]], check=True)
    program = target / "scan_check"
    subprocess.run([compiler, "-static", *objects, "-o", str(program)], check=True)
    return program


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.txt"
    path.write_text(MIXED * 60)
    return path


def test_scanners_of_this_machine(tmp_path: Path, mixed: Path) -> None:
    need("g++")
    program = build("g++", tmp_path)
    ran = subprocess.run([program, "--texts", "4000", "--every", "3", mixed], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.startswith("levels: scalar")


def test_scanners_of_aarch64_under_an_emulator(tmp_path: Path, mixed: Path) -> None:
    need(*AARCH64)
    program = build(AARCH64[0], tmp_path)
    command = [AARCH64[1], program, "--texts", "600", "--every", "61", mixed]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout == "levels: scalar neon; 0 differences\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--emulator", default="")
    options, rest = parser.parse_known_args()
    for program in filter(None, (options.compiler, options.emulator)):
        if shutil.which(program) is None:
            print(f"{program} is not installed: nothing was compared")
            return 0
    with tempfile.TemporaryDirectory() as directory:
        program = build(options.compiler, Path(directory))
        return subprocess.run([*filter(None, [options.emulator]), str(program), *rest]).returncode


if __name__ == "__main__":
    sys.exit(main())
