"""Checks that the engine library is plain C++17: compiles every file for systems other than this machine's.

``python tools/portable.py [NAME ...]`` runs the checks whose compilers are installed (Debian: clang and libc++-dev,
g++-mingw-w64-x86-64-posix, g++-aarch64-linux-gnu) and names skipped ones. A check named on the command line fails
without its compiler.

- ``libc++``: Clang with the standard library of macOS; extensions of C++17 are errors
- ``windows``: MinGW, with the headers of Windows
- ``msvc``: MinGW with the sources' branches for MSVC, and without built-in functions that MSVC lacks
- ``aarch64``: GCC for AArch64
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from native_build import INCLUDES, ROOT, engine_sources, simd_flags


class Check(NamedTuple):
    compiler: str
    flags: list[str]
    is_x86: bool


CHECKS = {
    "libc++": Check("clang++", ["-stdlib=libc++", "-Wpedantic", "-Wno-gcc-compat", "-Werror"], True),
    "windows": Check("x86_64-w64-mingw32-g++-posix", ["-Werror"], True),
    "msvc": Check("x86_64-w64-mingw32-g++-posix", [], True),
    "aarch64": Check("aarch64-linux-gnu-g++", ["-Werror"], False),
}

AS_MSVC = (
    (re.compile(r"defined\(_MSC_VER\)"), "1"),
    (re.compile(r"defined\(__(clang|GNUC|SSE2)__\)"), "0"),
    (re.compile(r"\b(__builtin_|__int128|__attribute__|__asm__|asm\()"), r"no_\1"),
)


def main() -> int:
    names = sys.argv[1:] or list(CHECKS)
    failures = 0
    for name in names:
        check = CHECKS[name]
        if shutil.which(check.compiler) is None:
            print(f"{name}: {check.compiler} is not installed")
            failures += bool(sys.argv[1:])
            continue
        failures += run(name, check)
    return 1 if failures else 0


def run(name: str, check: Check) -> int:
    """Compile all files for one check and print the errors. Return the number of files that do not compile."""
    with tempfile.TemporaryDirectory() as directory:
        root = as_msvc(Path(directory)) if name == "msvc" else ROOT
        sources = engine_sources(check.is_x86, root)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            said = list(threads.map(lambda source: compile_one(check, root, source), sources))
    print("".join(said), end="")
    failed = sum(map(bool, said))
    print(f"{name}: {len(sources)} files, {failed} do not compile")
    return failed


def compile_one(check: Check, root: Path, source: str) -> str:
    """Return the compiler's output, or "" if the file compiles."""
    flags = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", *check.flags, *simd_flags(source)]
    done = subprocess.run([check.compiler, *flags, *INCLUDES, source], cwd=root, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def as_msvc(directory: Path) -> Path:
    """Copy the sources to `directory`, with conditions on the compiler decided as for MSVC."""
    for path in sorted((ROOT / "cpp").rglob("*")):
        if path.suffix in (".cpp", ".h", ".inc") and "bindings" not in path.parts:
            text = path.read_text(encoding="utf-8")
            for pattern, by in AS_MSVC:
                text = pattern.sub(by, text)
            copy = directory / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, encoding="utf-8")
    return directory


if __name__ == "__main__":
    sys.exit(main())
