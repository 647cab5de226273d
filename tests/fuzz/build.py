"""Builds the engine and its fuzz targets with Clang's sanitizers and coverage; what is up to date stays as it is."""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

from native_build import INCLUDES, ROOT, Ninja, cached, engine_sources, simd_flags

from tests.fuzz import vocabularies

HERE = Path(__file__).resolve().parent.relative_to(ROOT)
SANITIZERS = "address,undefined"
QUICK = ["-fno-sanitize=null,object-size,vptr,alignment"]
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


def build(targets: list[str], directory: Path, jobs: int, is_quick: bool = False) -> dict[str, Path]:
    """The programs of these targets of the engine. `is_quick` compiles in two thirds of the time: without line numbers
    in reports, and without checks for pointers that are null, misaligned or of small objects. Raises RuntimeError
    without Clang, and BuildError where a file does not compile."""
    if not targets:
        return {}
    cxx = compiler()
    if cxx is None:
        raise RuntimeError("the engine's fuzz targets need Clang with libFuzzer (Debian and Ubuntu: clang)")
    directory.mkdir(parents=True, exist_ok=True)
    write_vocabularies(directory)
    sanitize = f"-fsanitize=fuzzer-no-link,{SANITIZERS}"
    all_flags = [*COMMON, "-O1", "-g0" if is_quick else "-g1", sanitize, *(QUICK if is_quick else [])]
    harness = [*(["-O0"] if is_quick else []), f"-I{directory}"]
    ninja = Ninja(directory)

    def compiled(source: str, more: list[str]) -> str:
        built = directory / "objects" / f"{source}.o"
        command = [*cached([cxx]), *all_flags, *more, "-c", source, "-o", str(built)]
        return ninja.compile(command, source, built)

    own = {name: compiled(f"{HERE}/engine/{name}.cpp", harness) for name in [*targets, "support"]}
    sources = engine_sources(platform.machine().lower() in ("x86_64", "amd64"))
    sources.sort(key=lambda source: -(ROOT / source).stat().st_size)
    library = [own.pop("support"), *(compiled(source, simd_flags(source)) for source in sources)]
    archive = str(directory / "engine.a")
    # `ar` would leave in it what is no longer a source.
    ninja.make(f"rm -f {shlex.quote(archive)} && {shlex.join(['ar', 'rcs', archive, *library])}", library, archive)
    for name, main in own.items():
        link = [cxx, f"-fsanitize=fuzzer,{SANITIZERS}", main, archive, "-lpthread", "-o", str(directory / name)]
        ninja.make(link, [main, archive], directory / name)
    ninja.run(jobs)
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
