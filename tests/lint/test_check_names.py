"""tools/check_names.py finds what it is there to find."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FUNCTION = "inline uint64_t key(uint32_t a, uint32_t b) {\n    return a + b;\n}\n"


def check(root: Path) -> tuple[int, str]:
    command = [sys.executable, ROOT / "tools" / "check_names.py", root]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_the_engine_has_one_of_each() -> None:
    assert check(ROOT) == (0, "")


@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        (f"namespace crayon {{\n{FUNCTION}}}", f"namespace crayon {{\n{FUNCTION}}}", "crayon::key(uint32_t, uint32_t)"),
        (
            f"namespace a::b {{ {FUNCTION} }}",
            f"namespace a {{ namespace b {{ {FUNCTION} }} }}",
            "a::b::key(uint32_t, uint32_t)",
        ),
        (f"namespace a {{ {FUNCTION} }}", f"namespace b {{ {FUNCTION} }}", ""),
        (f"namespace a {{ namespace {{ {FUNCTION} }} }}", f"namespace a {{ {FUNCTION} }}", ""),
        (f"namespace a {{ {FUNCTION} }}", f"namespace a {{ {FUNCTION.replace('uint32_t b', 'int b')} }}", ""),
        (f"namespace a {{ {FUNCTION} }}", f"// {FUNCTION}", ""),
        ("namespace a {\nstruct Key {\n    int b;\n};\n}", "namespace a {\nclass Key final {\n};\n}", "a::Key"),
        ("namespace a { struct Key; }", "namespace a { struct Key { int b; }; }", ""),
        ("namespace a { struct Key { struct In; }; }", "namespace a { struct Key::In { int b; }; }", ""),
        ("namespace a { template <typename T> class Key { T b; }; }", "namespace a { struct Key {}; }", "a::Key"),
    ],
)
def test_what_two_files_define(tmp_path: Path, one: str, other: str, name: str) -> None:
    for file, text in (("one.h", one), ("other.h", other)):
        (tmp_path / "cpp").mkdir(exist_ok=True)
        (tmp_path / "cpp" / file).write_text(text, encoding="utf-8")
    expected = (1, f"{name}: cpp/one.h, cpp/other.h\n") if name else (0, "")
    assert check(tmp_path) == expected
