"""Parts of the engine that are hard to reach from Python: the C++ programs beside this file.

Each program is compiled with the sources that it needs, and with assertions.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from native_build import INCLUDES, ROOT, WARNINGS, Ninja, cached

ENGINE = [
    "cpp/src/support/base64.cpp",
    "cpp/src/encode/memo/memo.cpp",
    "cpp/src/support/control_groups.cpp",
    "cpp/src/support/cores.cpp",
    "cpp/src/support/held_file.cpp",
    "cpp/src/support/memory_limit.cpp",
    "cpp/src/support/spare_tables.cpp",
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
        compiler = [*cached(["c++"]), *flags]
        objects.append(ninja.compile([*compiler, "-c", source, "-o", str(built)], source, built))
    made = ninja.directory / "native"
    ninja.make(["c++", *objects, "-o", str(made)], objects, made)
    ninja.run()
    return made


@pytest.mark.parametrize("name", TESTS)
def test_of_the_engine(program: Path, name: str) -> None:
    done = subprocess.run([program, name], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
