"""The checks of `make lint` that are our own find faults in the order of folders, in names and in prose."""

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
        ("src/engine/bare.cpp", '#include "bits.h"', "not found"),
        ("src/engine/dots.cpp", '#include "../support/bits.h"', "not found"),
        ("src/engine/python.cpp", "#include <pybind11/pybind11.h>", "only bindings"),
        ("src/encode/memo/good.cpp", "", ""),
        ("src/encode/memo/up.cpp", '#include "engine/engine.cpp"', "above encode/memo"),
        ("src/encode/stray.cpp", "", "in no folder"),
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


PROSE = {
    "opening": "What a card says of a repository.",
    "nobody": "A lock that nobody holds.",
    "so many": "It keeps so many tokens.",
    "those that": "Removes those that are old.",
    "there is": "Returns None if there is a fault.",
    "is no": "The text is no token.",
    "is to be": "As the library has it.",
    "stands": "The job then goes on.",
    "of what": "The rest of what it read.",
    "is what": "This is what comes next.",
    "place of": "Our class in the place of theirs.",
    "long sentence": "It " + "and it " * 15 + "ends.",
    "long paragraph": "It ends. " * 7,
}
"""For each rule a text that breaks it."""


@pytest.mark.parametrize(("rule", "said"), PROSE.items(), ids=PROSE)
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("page.md", "# A page\n\n{}\n"),
        ("table.md", "| a | b |\n|---|---|\n| {} | |\n"),
        ("module.py", '"""{}"""\n'),
        ("comment.py", "x = 1  # {}\n"),
        ("message.py", 'raise ValueError("{}")\n'),
        ("joined.py", 'x = f"{} {{x}}"\n'),
        ("engine.h", "// {}\nint x;\n"),
        ("message.cpp", 'auto x = "{}";\n'),
    ],
    ids=lambda value: value if "." in str(value) and len(str(value)) < 12 else "",
)
def test_prose(tmp_path: Path, name: str, form: str, rule: str, said: str) -> None:
    """A text that breaks a rule is found, even beside an exception for another rule, but not beside one for the rule
    itself."""
    assert prose(tmp_path, name, form.format(said)) == [rule]
    exception = {"md": "<!-- prose: {} -->\n", "py": "# prose: {}\n"}.get(name.rpartition(".")[2], "// prose: {}\n")
    if name != "table.md":
        assert prose(tmp_path, name, exception.format("other") + form.format(said)) == [rule]
        text = form.format(said).replace("# A page\n\n", "")
        assert prose(tmp_path, name, exception.format(rule) + text) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"codes = {' '.join(['1F600'] * 40)!r}\n", id="codes"),
        pytest.param('"""Usage:\n\n' + "    python -m parity.gpu -o report/  on the CPU\n" * 6 + '"""\n', id="usage"),
    ],
)
def test_prose_of_other_kinds(tmp_path: Path, text: str) -> None:
    """Lists of codes are not sentences, and each line of usage is one of its own."""
    assert prose(tmp_path, "module.py", text) == []


def prose(root: Path, name: str, text: str) -> list[str]:
    (root / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", name], cwd=root, check=True)
    command = [sys.executable, ROOT / "tools" / "check_prose.py", name]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    found = [line.split(": ")[1] for line in done.stdout.splitlines()]
    assert done.returncode == bool(found), done.stderr
    return found
