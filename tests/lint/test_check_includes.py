"""tools/check_includes.py finds what it is there to find."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def check(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tools" / "check_includes.py", root]
    return subprocess.run(command, capture_output=True, text=True)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "cpp" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_the_engine_keeps_its_order() -> None:
    done = check(ROOT)
    assert (done.returncode, done.stdout) == (0, "")


GOOD = {
    "include/crayon/support/bytes.h": "#include <cstddef>\n",
    "include/crayon/engine/engine.h": '#include "crayon/support/bytes.h"\n',
    "src/support/bits.h": "",
    "src/engine/engine.cpp": '#include "crayon/engine/engine.h"\n#include "support/bits.h"\n',
    "bindings/bindings.h": "#include <pybind11/pybind11.h>\n",
    "bindings/engine/bind_engine.cpp": '#include "bindings/bindings.h"\n#include "crayon/engine/engine.h"\n',
}


def test_includes_that_go_down(tmp_path: Path) -> None:
    done = check(write(tmp_path, GOOD))
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("src/support/up.cpp", '#include "crayon/engine/engine.h"', "which is above support"),
        ("include/crayon/support/up.h", '#  include "engine/engine.cpp"', "which is above support"),
        ("src/engine/up.cpp", '#include "bindings/bindings.h"', "which is above engine"),
        ("src/engine/bare.cpp", '#include "bits.h"', "which is not there"),
        ("src/engine/dots.cpp", '#include "../support/bits.h"', "which is not there"),
        ("src/engine/python.cpp", "#include <pybind11/pybind11.h>", "which only bindings and device_module may"),
        ("src/stray.cpp", "", "in no folder"),
        ("src/engine/deep/stray.cpp", "", "in no folder"),
    ],
)
def test_what_breaks_the_order(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    done = check(write(tmp_path, {**GOOD, name: text + "\n"}))
    assert done.returncode == 1
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"cpp/{name}: ")
    assert complaint in line
