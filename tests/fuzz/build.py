"""Builds the engine and its fuzz targets with Clang's sanitizers and coverage, without rebuilding current ones."""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

from native_build import INCLUDES, PRECOMPILED, ROOT, Ninja, can_precompile, engine_sources, simd_flags

HERE = Path(__file__).resolve().parent.relative_to(ROOT)
SANITIZERS = "address,undefined"
QUICK = ["-g0", "-fno-sanitize=null,object-size,vptr,alignment"]
COMMON = ["-std=c++17", "-O1", "-fno-omit-frame-pointer", f"-fsanitize=fuzzer-no-link,{SANITIZERS}", *INCLUDES]
COMMON += ["-fno-sanitize-recover=all"]


def compiler() -> str | None:
    """The path of a Clang that has libFuzzer and the sanitizers, or None. CRAYON_FUZZ_CXX names another compiler."""
    found = shutil.which(os.environ.get("CRAYON_FUZZ_CXX", "clang++"))
    if found is None:
        return None
    program = 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n'
    flags = [f"-fsanitize=fuzzer,{SANITIZERS}", "-x", "c++", "-", "-o", os.devnull]
    ran = subprocess.run([found, *flags], input=program, capture_output=True, text=True, check=False)
    return found if ran.returncode == 0 else None


def build(targets: list[str], directory: Path, jobs: int, is_quick: bool = False) -> None:
    """Build the program `directory`/NAME for each of the engine's fuzz targets that `targets` names.

    `is_quick` compiles in two thirds of the time: without line numbers in reports, and without checks for null,
    misaligned and too small objects. Raises RuntimeError if Clang is missing, BuildError if a file does not compile.
    """
    if not targets:
        return
    cxx = compiler()
    if cxx is None:
        raise RuntimeError("the engine's fuzz targets need Clang with libFuzzer (Debian and Ubuntu: clang)")
    directory.mkdir(parents=True, exist_ok=True)
    write_vocabularies(directory)
    flags = [*COMMON, *(QUICK if is_quick else ["-g1"])]
    harness = [*(["-O0"] if is_quick else []), f"-I{directory}"]
    ninja = Ninja(directory)

    def command(source: str, more: list[str]) -> tuple[list[str], str]:
        built = str(directory / "objects" / f"{source}.o")
        return [cxx, *flags, *more, "-c", source, "-o", built], built

    def compiled(source: str, more: list[str]) -> str:
        run, built = command(source, more)
        return ninja.compile(run, source, built, prefix="" if more else prefix)

    sources = engine_sources(platform.machine().lower() in ("x86_64", "amd64"))
    sources = [path for path in sources if "kernels" in targets or not path.startswith("cpp/gpu/")]
    sources.sort(key=lambda path: -(ROOT / path).stat().st_size)
    run, built = command(sources[0], [])
    prefix = ninja.precompile(run, sources[0], built, PRECOMPILED) if can_precompile(run, msvc=False) else ""
    own = {name: compiled(f"{HERE}/engine/{name}.cpp", harness) for name in [*targets, "support"]}
    library = [own.pop("support"), *(compiled(source, simd_flags(source)) for source in sources)]
    archive = str(directory / "engine.a")
    # `ar` would keep objects of deleted sources.
    ninja.make(f"rm -f {shlex.quote(archive)} && {shlex.join(['ar', 'rcs', archive, *library])}", library, archive)
    for name, main in own.items():
        link = [cxx, f"-fsanitize=fuzzer,{SANITIZERS}", main, archive, "-lpthread", "-o", str(directory / name)]
        ninja.make(link, [main, archive], directory / name)
    ninja.run(jobs)


def write_vocabularies(directory: Path) -> None:
    """Write vocabularies.json as C++, so that a target needs no other file.

    A fuzz input names a vocabulary by its place in the list, so new vocabularies go to the end.
    """
    found = json.loads((ROOT / HERE / "vocabularies.json").read_text(encoding="utf-8"))
    parts = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
    empty = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], **dict.fromkeys(parts)}
    rows = []
    for name, document in found["documents"].items():
        model = found["models"][document.pop("model")]
        if document.pop("ignore_merges", False):
            model = {**model, "ignore_merges": True}
        rows.append(f'{{"{name}", {_literal({**empty, **document, "model": model})}}},')
    _write(directory / "vocabularies.h", rows)
    _write(directory / "components.h", [f"{_literal(component)}," for component in found["components"]])


def _literal(document: Any) -> str:
    return f'R"crayon({json.dumps(document, ensure_ascii=False, separators=(",", ":"))})crayon"'


def _write(path: Path, rows: list[str]) -> None:
    content = "\n".join(rows) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != content:
        path.write_text(content, encoding="utf-8")
