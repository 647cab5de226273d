"""Parts of the engine that are hard to reach from Python: the programs beside this file, compiled with those sources
of the engine that they need, and assertions on."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from native_build import INCLUDES, ROOT, WARNINGS, Ninja, cached, simd_flags

IS_X86_64 = platform.machine() in ("x86_64", "AMD64")
ENGINE = [
    "cpp/src/support/base64.cpp",
    "cpp/src/support/cpu.cpp",
    "cpp/src/support/held_file.cpp",
    "cpp/src/support/spare_tables.cpp",
    "cpp/src/json/json_number.cpp",
    "cpp/src/cartridge/double_array.cpp",
    "cpp/src/bpe/char_pairs.cpp",
    "cpp/src/bpe/spaced_pairs.cpp",
    "cpp/src/bpe/word_kernels.cpp",
    *(f"cpp/src/bpe/{name}_avx512.cpp" for name in ("spaced_pairs", "word_kernels") if IS_X86_64),
    "cpp/src/unicode/unicode.cpp",
    "cpp/gpu/host_device.cpp",
    "cpp/gpu/measured_device.cpp",
]
SOURCES = sorted((ROOT / "tests" / "native").glob("*.cpp"))
TESTS = [name for source in SOURCES for name in re.findall(r"^TEST\((\w+)\)", source.read_text(), re.MULTILINE)]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform == "win32" or shutil.which("c++") is None, reason="there is no C++ compiler that is called c++"
    ),
]


@pytest.fixture(scope="module")
def program() -> Path:
    ninja = Ninja(ROOT / "build" / "native")
    flags = ["-std=c++17", "-O1", "-UNDEBUG", "-D_GLIBCXX_ASSERTIONS", *WARNINGS, *INCLUDES]
    objects = []
    for source in [*ENGINE, *(source.relative_to(ROOT).as_posix() for source in SOURCES)]:
        built = ninja.directory / f"{Path(source).stem}.o"
        compiler = [*cached(["c++"]), *flags, *simd_flags(source)]
        objects.append(ninja.compile([*compiler, "-c", source, "-o", str(built)], source, built))
    made = ninja.directory / "native"
    ninja.make(["c++", *objects, "-o", str(made)], objects, made)
    ninja.run()
    return made


@pytest.mark.parametrize("name", TESTS)
def test_of_the_engine(program: Path, name: str) -> None:
    done = subprocess.run([program, name], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
