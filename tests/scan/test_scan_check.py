"""Builds and runs scan_check.cpp and utf8_check.cpp, which check the scanning and UTF-8 kernels of this machine, and
those of AArch64 under an emulator.

As a script it builds and runs both with other compilers and emulators, the first one with arguments:

    python tests/scan/test_scan_check.py [--compiler aarch64-linux-gnu-g++] [--emulator qemu-aarch64] [ARGUMENT...]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[0] = str(ROOT / "tools")

from native_build import INCLUDES, WARNINGS, Ninja, cached, engine_sources, simd_flags  # noqa: E402

AARCH64 = ("aarch64-linux-gnu-g++", "qemu-aarch64")
MIXED = (
    "The quick brown fox, it's 2024! Съешь же ещё этих мягких французских булок. 我们去北京。你呢…… "
    "Ελληνικά κείμενα — الأرقام ١٢٣ والنص。 हिन्दी में लिखा हुआ पाठ। 한국어 문장입니다. ひらがなとカタカナ、ABC。\r\n"
)
"""Sentences in several scripts, of which the tests make a mixed text."""


PROGRAMS = ("scan_check", "utf8_check")
SOURCES = (
    *("cpp/src/simd/", "cpp/src/encode/merger/merge_batch_avx", "cpp/src/scan/pattern_families.cpp"),
    *("cpp/src/support/cpu.cpp", "cpp/src/unicode/unicode.cpp", "cpp/src/unicode/utf8_shape.cpp"),
    "cpp/src/texts/text_view.cpp",
)
"""The beginnings of the paths of the engine's sources that the programs need."""


def build(compiler: str, name: str) -> Path:
    """Build a program from only the sources that it needs, without rebuilding current objects."""
    x86_64 = "aarch64" not in compiler and os.uname().machine in ("x86_64", "amd64")
    sources = [source for source in engine_sources(x86_64) if source.startswith(SOURCES)]
    ninja = Ninja(ROOT / "build" / name / Path(compiler).name)
    objects = []
    for source in [*sources, f"tests/scan/{name}.cpp"]:
        built = ninja.directory / f"{Path(source).stem}.o"
        flags = ["-std=c++17", "-O1", *WARNINGS, *INCLUDES, *simd_flags(source)]
        objects.append(ninja.compile([*cached([compiler]), *flags, "-c", source, "-o", str(built)], source, built))
    program = ninja.directory / name
    ninja.make([compiler, "-static", *objects, "-o", str(program)], objects, program)
    ninja.run()
    return program


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


MACHINES = [
    pytest.param("g++", [], ["--texts", "4000", "--every", "3"], [], id="this machine", marks=pytest.mark.slow),
    pytest.param(AARCH64[0], [AARCH64[1]], ["--texts", "600", "--every", "61"], ["3000"], id="AArch64, emulated"),
]


@pytest.mark.parametrize(("compiler", "emulator", "of_scanners", "of_writers"), MACHINES)
def test_scanners_and_writers(
    compiler: str, emulator: list[str], of_scanners: list[str], of_writers: list[str], tmp_path: Path
) -> None:
    need(compiler, *emulator)
    mixed = tmp_path / "mixed.txt"
    mixed.write_text(MIXED * 60)
    for name, arguments in zip(PROGRAMS, ([*of_scanners, str(mixed)], of_writers), strict=True):
        command = [*emulator, str(build(compiler, name)), *arguments]
        ran = subprocess.run(command, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert ran.stdout.startswith("levels: scalar neon" if emulator else "levels: scalar")
        assert ran.stdout.endswith("; 0 differences\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--emulator", default="")
    options, rest = parser.parse_known_args()
    for program in filter(None, (options.compiler, options.emulator)):
        if shutil.which(program) is None:
            print(f"{program} is not installed: nothing was compared")
            return 0
    before = [options.emulator] if options.emulator else []
    codes = [
        subprocess.run([*before, build(options.compiler, name), *(rest if name == "scan_check" else [])]).returncode
        for name in PROGRAMS
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
