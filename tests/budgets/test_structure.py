"""Boundaries for Markdown, JSON and code: which parts of a document stay whole in a chunk."""

from __future__ import annotations

import random
import sys

import pytest

import crayon_hf
from crayon_hf.budgets.boundaries import finders, levels
from crayon_hf.errors import MissingExtraError
from tests.support.random_texts import random_text

MARKDOWN = """\
Before all.

# One

Text of one.

- first é
- second
  more

```python
x = 1
y = 2
```

## One and a half

| a | b |
|---|---|
| 1 | 2 |
| 3 | 4 |

# Two
Last.
"""
PYTHON = """\
import os

# What it does.
def first(a):
    return a + "é"


class Second:
    def third(self):
        return 3

    def fourth(self): pass
"""


def parts(text, boundaries, kind):
    finder = finders(text, boundaries)[kind]
    place, found = 0, []
    while place < len(text):
        following = finder.first(place + 1, len(text) + 1)
        found.append(text[place:following])
        place = following
    return found


def test_markdown_from_sections_to_rows():
    pytest.importorskip("markdown_it")
    sections = parts(MARKDOWN, ["markdown"], 0)
    assert [each.splitlines()[0] for each in sections] == ["Before all.", "# One", "# Two"]
    sections = parts(MARKDOWN, ["markdown"], 1)
    assert [each.splitlines()[0] for each in sections] == ["Before all.", "# One", "## One and a half", "# Two"]
    blocks = parts(MARKDOWN, ["markdown"], 2)
    # A heading stays with the text after it.
    assert [each.splitlines()[0] for each in blocks] == [
        *("Before all.", "# One", "- first é", "```python", "## One and a half", "# Two")
    ]
    smallest = parts(MARKDOWN, ["markdown"], -1)
    assert "| 1 | 2 |\n" in smallest
    assert "- second\n  more\n\n" in smallest
    assert "y = 2\n" in smallest


def test_code_from_functions_to_their_parts():
    pytest.importorskip("tree_sitter_python")
    top = parts(PYTHON, ["code:python"], 0)
    assert [each.splitlines()[0] for each in top] == ["import os", "# What it does.", "class Second:"]
    methods = parts(PYTHON, ["code:python"], 1)
    # The head of a class stays with its first method.
    assert methods[2:] == ["class Second:\n    def third(self):\n        return 3\n\n", "    def fourth(self): pass\n"]
    statements = parts("if x:\n    a = f(1, g(2), 3)\n    b = 2\n", ["code:python"], 0)
    assert statements == ["if x:\n    a = f(1, g(2), 3)\n", "    b = 2\n"]
    arguments = parts("if x:\n    a = f(1, g(2), 3)\n    b = 2\n", ["code:python"], -1)
    assert arguments == ["if x:\n    a = f(1, ", "g(2), ", "3)\n", "    b = 2\n"]


def test_json_and_lines_of_it():
    pytest.importorskip("tree_sitter_json")
    text = '{"é": [1, {"b": 2}], "c": "d, e"}\n{"f": null}\n'
    assert parts(text, ["json"], 0) == ['{"é": [1, {"b": 2}], "c": "d, e"}\n', '{"f": null}\n']
    assert parts(text, ["json"], 1) == ['{"é": [1, {"b": 2}], ', '"c": "d, e"}\n', '{"f": null}\n']
    assert parts(text, ["json"], 2) == ['{"é": [1, ', '{"b": 2}], ', '"c": "d, e"}\n', '{"f": null}\n']


@pytest.mark.slow
@pytest.mark.parametrize("boundaries", ["markdown", "json", "code:python"])
def test_any_text_at_all_is_taken(boundaries, gpt2_like):
    for module in ("icu4py", "markdown_it", "tree_sitter_json", "tree_sitter_python"):
        pytest.importorskip(module)
    tokenizer, drawn = crayon_hf.Tokenizer.from_file(str(gpt2_like)), random.Random(3)
    for text in ["", "[" * 3000, '{"a":' * 500, "> " * 500, *(random_text(drawn, 60) for _ in range(20))]:
        chunks = tokenizer.split_text(text, 40, 0, boundaries)
        assert "".join(chunk.text for chunk in chunks) == text
        assert all(len(chunk.ids) <= 40 for chunk in chunks)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    with pytest.raises(MissingExtraError, match=r"markdown_it.*\[chunks\]"):
        levels(["markdown"])
    pytest.importorskip("tree_sitter")
    with pytest.raises(MissingExtraError, match="pip install tree-sitter-of-nobody"):
        levels(["code:of-nobody"])
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    with pytest.raises(MissingExtraError, match=r"tree_sitter.*\[chunks\]"):
        levels("json")
