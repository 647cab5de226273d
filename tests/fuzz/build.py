"""Builds the engine and its fuzz targets with Clang's sanitizers and coverage; what is up to date stays as it is."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.fuzz import vocabularies

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCES = ROOT / "cpp" / "src"
KERNELS = ROOT / "cpp" / "gpu"
SANITIZERS = "address,undefined"
QUICK = ["-fno-sanitize=null,object-size,vptr,alignment"]
INCLUDES = [f"-I{ROOT}/cpp", f"-I{ROOT}/cpp/include", f"-I{SOURCES}"]
COMMON = ["-std=c++17", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", *INCLUDES]


def compiler() -> str | None:
    """Clang with libFuzzer and its sanitizers, or None where there is none. CRAYON_FUZZ_CXX names another one."""
    found = shutil.which(os.environ.get("CRAYON_FUZZ_CXX", "clang++"))
    if found is None:
        return None
    program = 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n'
    flags = [f"-fsanitize=fuzzer,{SANITIZERS}", "-x", "c++", "-", "-o", os.devnull]
    ran = subprocess.run([found, *flags], input=program, capture_output=True, text=True, check=False)
    return found if ran.returncode == 0 else None


def simd_flags() -> dict[str, list[str]]:
    """The flags that setup.py has for each suffix. (Importing it would build.)"""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return {}
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    names: dict[str, Any] = {"MSVC": False}
    exec(text[text.index("AVX2_FLAGS = ") : text.index("COMMON_FLAGS = ")], names)
    return dict(names["SIMD_FLAGS"])


def compile_file(cxx: str, source: Path, built: Path, flags: list[str]) -> None:
    """Compiles unless the object is newer than all that it was made of, and was made by the same command."""
    command = [cxx, *flags, "-MD", "-MF", f"{built}.d", "-c", str(source), "-o", str(built)]
    said = Path(f"{built}.command")
    if built.exists() and said.exists() and said.read_text() == json.dumps(command) and not _is_old(built):
        return
    said.unlink(missing_ok=True)
    subprocess.run(command, check=True)
    said.write_text(json.dumps(command))


def _is_old(built: Path) -> bool:
    made = built.stat().st_mtime_ns
    parts = Path(f"{built}.d").read_text().replace("\\\n", " ").split(":", 1)[1].split()
    return any(not Path(part).exists() or Path(part).stat().st_mtime_ns > made for part in parts)


def _in_parallel(work: Callable[[Any], None], items: Iterable[Any], jobs: int) -> None:
    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(work, items):
            pass


def build(targets: list[str], directory: Path, jobs: int, is_quick: bool = False) -> dict[str, Path]:
    """The programs of these targets of the engine. `is_quick` compiles in two thirds of the time: without line numbers
    in reports, and without checks for pointers that are null, misaligned or of small objects. Raises RuntimeError
    without Clang, and what subprocess does where a file does not compile."""
    if not targets:
        return {}
    cxx = compiler()
    if cxx is None:
        raise RuntimeError("the engine's fuzz targets need Clang with libFuzzer (Debian and Ubuntu: clang)")
    objects = directory / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    write_vocabularies(directory)
    simd = simd_flags()
    sanitize = f"-fsanitize=fuzzer-no-link,{SANITIZERS}"
    all_flags = [*COMMON, "-O1", "-g0" if is_quick else "-g1", sanitize, *(QUICK if is_quick else [])]

    def flags_of(source: Path) -> list[str] | None:
        special = [flags for suffix, flags in simd.items() if source.name.endswith(suffix)]
        if not special and source.name.endswith(("_avx2.cpp", "_avx512.cpp")):
            return None
        return [*all_flags, *(special[0] if special else [])]

    library: list[tuple[Path, Path, list[str]]] = []
    sources = [*SOURCES.rglob("*.cpp"), *KERNELS.glob("*.cpp")]
    for source in sorted(sources, key=lambda path: -path.stat().st_size):
        flags = flags_of(source)
        if flags is not None:
            prefix = "gpu_" if source.parent == KERNELS else ""
            library.append((source, objects / f"{prefix}{source.stem}.o", flags))
    harness = [*all_flags, *(["-O0"] if is_quick else []), f"-I{directory}"]
    own = [(HERE / "engine" / f"{name}.cpp", objects / f"fuzz_{name}.o", harness) for name in [*targets, "support"]]
    _in_parallel(lambda one: compile_file(cxx, *one), [*own, *library], jobs)

    archive = directory / "engine.a"
    needed = [built for _, built, _ in library] + [objects / "fuzz_support.o"]
    if not archive.exists() or any(path.stat().st_mtime_ns > archive.stat().st_mtime_ns for path in needed):
        archive.unlink(missing_ok=True)
        subprocess.run(["ar", "rcs", str(archive), *map(str, needed)], check=True)

    def link(name: str) -> None:
        program, main = directory / name, objects / f"fuzz_{name}.o"
        newest = max(path.stat().st_mtime_ns for path in (archive, main))
        if not program.exists() or program.stat().st_mtime_ns < newest:
            command = [cxx, f"-fsanitize=fuzzer,{SANITIZERS}", str(main), str(archive), "-lpthread", "-o", str(program)]
            subprocess.run(command, check=True)

    _in_parallel(link, targets, jobs)
    return {name: directory / name for name in targets}


def write_vocabularies(directory: Path) -> None:
    """What vocabularies.py has, for C++, so that a program of a target needs nothing beside it."""
    rows = [f'{{"{name}", {_literal(document)}}},' for name, document in vocabularies.documents().items()]
    _write(directory / "vocabularies.h", rows)
    _write(directory / "components.h", [f"{_literal(component)}," for component in vocabularies.components()])


def _literal(document: Any) -> str:
    return f'R"crayon({json.dumps(document, ensure_ascii=False, separators=(",", ":"))})crayon"'


def _write(path: Path, rows: list[str]) -> None:
    content = "\n".join(rows) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != content:
        path.write_text(content, encoding="utf-8")
