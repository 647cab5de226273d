"""Checks the order of the engine's folders: each may include only itself and earlier ones in LAYERS.

    python tools/check_includes.py [ROOT]

A header in ``cpp/include/crayon/NAME`` counts as ``NAME``, the folder of ``cpp/src`` that implements it. ``NAME`` may
have two parts: ``encode/memo``. Prints each include of a later folder, each file outside the folders and each include
without a folder. The exit status is 1 if it prints any line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

LAYERS = (
    "support",  # memory, bits, files, the machine
    "encode/run",  # tasks in threads
    "unicode",
    "json",
    "formats",  # the merges that rank files and scores imply
    "regex",
    "scan",  # where published patterns cut
    "cartridge",  # the file format
    "simd",  # the functions of each instruction set
    "texts",  # texts in their owner's memory, and lines of JSON
    "normalizers",
    "pre_tokenizers",
    "encode/merger",  # merges of one pretoken
    "encode/memo",  # the ids of pretokens that were merged before
    "models",
    "decoders",
    "post",  # post-processors, truncation, padding
    "pipeline",  # the components and the tokens of an engine
    "compiler",
    "encode/cutter",  # where texts can be cut
    "engine",
    "encode/plan",  # batches as tasks
    "encode/sinks",  # the results of batches and streams
    "budgets",  # parts of texts, counted
    "training",
    "trace",
    "gpu",
    "gpu_simulator",  # for tests, not in the package
    "bindings",
    "device_module",
)
ABOVE_THE_ENGINE = LAYERS[LAYERS.index("gpu") :]  # folders of cpp itself
PYTHON = ("bindings", "device_module")  # only these may include Python

_INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
_SUFFIXES = (".h", ".cpp", ".inc")


def folder_of(path: Path) -> str | None:
    """Return the folder of LAYERS that a path below ``cpp`` belongs to."""
    parts = path.parts[:-1]
    for prefix in (("src",), ("include", "crayon")):
        if parts[: len(prefix)] == prefix:
            folder = "/".join(parts[len(prefix) :])
            return folder if folder not in ABOVE_THE_ENGINE else None
    return parts[0] if parts and parts[0] in ABOVE_THE_ENGINE else None


def target_of(name: str, path: Path, cpp: Path) -> Path | None:
    """Return the file below ``cpp`` that a quoted include names: in the including file's folder, or by its folder."""
    for place in (path.parent, Path("src"), Path("include"), Path()):
        candidate = Path(*(place / name).parts)
        if ".." not in candidate.parts and (cpp / candidate).is_file():
            return candidate
    return None


def complaints(root: Path) -> Iterator[str]:
    """Yield a line for each include that breaks the order, and for each file outside the folders."""
    cpp = root / "cpp"
    for file in sorted(path for path in cpp.rglob("*") if path.suffix in _SUFFIXES):
        path = file.relative_to(cpp)
        folder = folder_of(path)
        if folder not in LAYERS:
            yield f"cpp/{path}: in no folder of LAYERS (tools/check_includes.py)"
            continue
        for quote, name in _INCLUDE.findall(file.read_text(encoding="utf-8")):
            if quote == "<":
                if name.startswith(("Python.h", "pybind11/")) and folder not in PYTHON:
                    yield f"cpp/{path}: includes <{name}>, which only {' and '.join(PYTHON)} may"
                continue
            target = target_of(name, path, cpp)
            if target is None:
                yield f'cpp/{path}: includes "{name}", which is not found: name it with its folder'
            elif folder_of(target) not in LAYERS[: LAYERS.index(folder) + 1]:
                yield f'cpp/{path}: includes "{name}", which is above {folder}'


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    found = list(complaints(root))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
