"""tools/check_includes.py and tools/check_names.py find what breaks the order of the engine's folders and its names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FUNCTION = "inline uint64_t key(uint32_t a, uint32_t b) {\n    return a + b;\n}\n"
GOOD = {
    "include/crayon/support/bytes.h": "#include <cstddef>\n",
    "include/crayon/engine/engine.h": '#include "crayon/support/bytes.h"\n',
    "src/support/bits.h": f"namespace a {{ {FUNCTION} struct Key {{}}; }}",
    "src/engine/engine.cpp": '#include "crayon/engine/engine.h"\n#include "support/bits.h"\n',
    "bindings/bindings.h": "#include <pybind11/pybind11.h>\n",
}


def check(tool: str, root: Path, files: dict[str, str]) -> tuple[int, str]:
    for name, text in files.items():
        path = root / "cpp" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    command = [sys.executable, ROOT / "tools" / f"{tool}.py", root]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("src/engine/good.cpp", "", ""),
        ("src/support/up.cpp", '#include "crayon/engine/engine.h"', "above support"),
        ("include/crayon/support/up.h", '#  include "engine/engine.cpp"', "above support"),
        ("src/engine/bare.cpp", '#include "bits.h"', "not there"),
        ("src/engine/dots.cpp", '#include "../support/bits.h"', "not there"),
        ("src/engine/python.cpp", "#include <pybind11/pybind11.h>", "only bindings"),
        ("src/engine/deep/stray.cpp", "", "in no folder"),
    ],
)
def test_includes(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    code, said = check("check_includes", tmp_path, {**GOOD, name: text + "\n"})
    assert code == bool(complaint)
    assert complaint in said


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"namespace a {{\n{FUNCTION}}}", "a::key(uint32_t, uint32_t)"),
        (f"namespace b {{ {FUNCTION} }}", ""),
        (f"namespace a {{ namespace {{ {FUNCTION} }} }}", ""),
        (f"namespace a {{ {FUNCTION.replace('uint32_t b', 'int b')} }}", ""),
        (f"namespace a {{\n// {FUNCTION} }}", ""),
        ("namespace a {\nclass Key final {\n};\n}", "a::Key"),
        ("namespace a { struct Key; }", ""),
        ("namespace a { template <typename T> class Key { T b; }; }", "a::Key"),
    ],
)
def test_names(tmp_path: Path, text: str, name: str) -> None:
    code, said = check("check_names", tmp_path, {**GOOD, "src/support/other.h": text})
    assert (code, said.partition(": ")[0]) == (bool(name), name)
