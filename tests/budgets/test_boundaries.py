"""Boundaries in texts: their places do not depend on the order of the questions, structures of Markdown, JSON and code
stay whole, and truncation ends at them."""

from __future__ import annotations

import random
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import crayon_hf
from crayon_hf.budgets.boundaries import finders, levels
from crayon_hf.budgets.places import KINDS
from crayon_hf.errors import MissingExtraError
from tests.support.random_texts import random_text

TEXT = "One. Two three.\r\nFour\n \t\n  Five, six.\n\n\nSeven\u2029Eight"


def places(text, boundary, kind=0):
    """All places of one kind of boundary in a text, after checking that searches from the left and from the right find
    the same."""
    finder = finders(text, [boundary])[kind]
    found, at = [], finder.first(0, len(text) + 1)
    while at is not None:
        found.append(at)
        at = finder.first(at + 1, len(text) + 1)
    again = finders(text, [boundary])[kind]
    back, at = [], again.last(-1, len(text))
    while at is not None:
        back.append(at)
        at = again.last(-1, at - 1)
    assert back[::-1] == found
    return found


def parts(text, boundary, kind=0):
    found = places(text, boundary, kind)
    return [text[a:b] for a, b in pairwise(found)]


def test_paragraphs():
    assert parts(TEXT, "paragraph") == [
        "One. Two three.\r\nFour\n \t\n",
        "  Five, six.\n\n\n",
        "Seven\u2029",
        "Eight",
    ]
    assert parts("a\r\r b\r\n\r\nc\n", "paragraph") == ["a\r\r", " b\r\n\r\n", "c\n"]
    assert places("", "paragraph") == [0]
    assert parts("a\n\x0b \u2028\n\n  b\n c\n\n\n", "paragraph") == ["a\n\x0b \u2028\n\n", "  b\n c\n\n\n"]


@pytest.mark.slow
def test_sentences_and_words_are_those_of_unicode():
    pytest.importorskip("icu4py")
    assert parts(TEXT, "sentence") == [
        *("One. ", "Two three.\r\n", "Four\n", " \t\n", "  Five, six.\n", "\n", "\n", "Seven\u2029", "Eight")
    ]
    # Full stops inside numbers and before small letters end no sentence; emoji have more than 16 bits.
    assert parts("It is 3.4 m. long 👨‍👩‍👧. Yes!", "sentence") == ["It is 3.4 m. long 👨‍👩‍👧. ", "Yes!"]
    assert parts("Don't 👨‍👩‍👧 3.4,e\u0301x", "word") == ["Don't", " ", "👨‍👩‍👧", " ", "3.4", ",", "e\u0301x"]
    assert parts("a\r\nb", "word") == ["a", "\r\n", "b"]


@pytest.mark.slow
def test_any_question_is_answered_as_all_boundaries_say():
    pytest.importorskip("icu4py")
    drawn = random.Random(5)
    for _ in range(200):
        text = "".join(drawn.choices(["a", "b. ", "A", "\n", "\r", "\r\n", " ", "👍", "\u0301", "字", "3.1"], k=20))
        for name in ("paragraph", "sentence", "word"):
            every = places(text, name)
            [finder] = finders(text, [name])
            for _ in range(20):
                a, b = drawn.randint(-1, len(text)), drawn.randint(-1, len(text))
                assert finder.last(a, b) == max((at for at in every if a < at <= b), default=None)
                a = max(a, 0)
                assert finder.first(a, b) == min((at for at in every if a <= at < b), default=None)


def test_patterns_functions_and_lists():
    assert parts("a;b;;c", re.compile(";+")) == ["a;", "b;;", "c"]
    assert parts("# a\n# b", re.compile("(?m)(?=^# )")) == ["# a\n", "# b"]
    assert parts("abc", lambda text: iter([2, 1, 2])) == ["a", "b", "c"]
    assert len(levels(["paragraph", re.compile(" "), len])) == 3
    assert levels(None) == levels([]) == []


@pytest.mark.parametrize(
    ("boundaries", "error", "says"),
    [
        ("sentences", ValueError, "'sentences', expected one of paragraph, sentence, word, markdown"),
        (3, TypeError, "boundaries is int"),
        ([None], TypeError, "boundaries is None"),
        (lambda text: ["a"], TypeError, "returned str, expected int offsets"),
        (lambda text: None, TypeError, "returned None, expected a list of offsets"),
        ("code:../python", ValueError, "boundaries is 'code:../python', expected one of"),
        (lambda text: [4], ValueError, "returned 4, expected 0 to 3"),
    ],
)
def test_what_is_no_boundary_is_refused(boundaries, error, says):
    with pytest.raises(error, match=says):
        finders("abc", boundaries)


# -- structures

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


def test_markdown_from_sections_to_rows():
    pytest.importorskip("markdown_it")
    sections = parts(MARKDOWN, "markdown", 0)
    assert [each.splitlines()[0] for each in sections] == ["Before all.", "# One", "# Two"]
    sections = parts(MARKDOWN, "markdown", 1)
    assert [each.splitlines()[0] for each in sections] == ["Before all.", "# One", "## One and a half", "# Two"]
    blocks = parts(MARKDOWN, "markdown", 2)
    # A heading stays with the text after it.
    assert [each.splitlines()[0] for each in blocks] == [
        *("Before all.", "# One", "- first é", "```python", "## One and a half", "# Two")
    ]
    smallest = parts(MARKDOWN, "markdown", -1)
    assert "| 1 | 2 |\n" in smallest
    assert "- second\n  more\n\n" in smallest
    assert "y = 2\n" in smallest


def test_code_from_functions_to_their_parts():
    pytest.importorskip("tree_sitter_python")
    top = parts(PYTHON, "code:python", 0)
    assert [each.splitlines()[0] for each in top] == ["import os", "# What it does.", "class Second:"]
    methods = parts(PYTHON, "code:python", 1)
    # The head of a class stays with its first method.
    assert methods[2:] == ["class Second:\n    def third(self):\n        return 3\n\n", "    def fourth(self): pass\n"]
    statements = parts("if x:\n    a = f(1, g(2), 3)\n    b = 2\n", "code:python", 0)
    assert statements == ["if x:\n    a = f(1, g(2), 3)\n", "    b = 2\n"]
    arguments = parts("if x:\n    a = f(1, g(2), 3)\n    b = 2\n", "code:python", -1)
    assert arguments == ["if x:\n    a = f(1, ", "g(2), ", "3)\n", "    b = 2\n"]


def test_json_and_lines_of_it():
    pytest.importorskip("tree_sitter_json")
    text = '{"é": [1, {"b": 2}], "c": "d, e"}\n{"f": null}\n'
    assert parts(text, "json", 0) == ['{"é": [1, {"b": 2}], "c": "d, e"}\n', '{"f": null}\n']
    assert parts(text, "json", 1) == ['{"é": [1, {"b": 2}], ', '"c": "d, e"}\n', '{"f": null}\n']
    assert parts(text, "json", 2) == ['{"é": [1, ', '{"b": 2}], ', '"c": "d, e"}\n', '{"f": null}\n']


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


# -- truncation at boundaries

PROSE = (
    "Ask, and it shall be given you; seek, and ye shall find. Knock!\n\nFor every one that asketh receiveth.\n"
    "And he that seeketh findeth?  So it is.\n \n\nOr what man is there of you, whom if his son ask bread, will "
    "he give him a stone?\n\n\u4e2d\u6587\u53e5\u5b50\u3002 naivet\u00e9 e\u0301 end"
)


@pytest.fixture(scope="module")
def tokenizer(llama3_like: Path) -> crayon_hf.Tokenizer:
    return crayon_hf.Tokenizer.from_file(llama3_like)


def expected(tokenizer: crayon_hf.Tokenizer, text: str, most: int, side: str, kind: str) -> str:
    """The plain algorithm: try all boundaries from the end of the last token that fits, and encode each part anew."""
    whole = tokenizer.truncate_text(text, most, side=side)  # type: ignore[arg-type]
    if whole in (text, ""):
        return whole
    for each in KINDS[KINDS.index(kind) :]:
        if side == "right":
            some = [text[:at] for at in reversed(places(text, each)) if 0 < at <= len(whole)]
        else:
            some = [text[at:] for at in places(text, each) if len(text) - len(whole) <= at < len(text)]
        for part in some:
            if len(tokenizer.encode(part).ids) <= most:
                return part
    return whole


@pytest.mark.slow
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_nearest_boundary_that_fits(tokenizer: crayon_hf.Tokenizer, kind: str, side: str) -> None:
    pytest.importorskip("icu4py")
    rng = random.Random(kind)
    seen = set()
    for text in (
        PROSE,
        PROSE[::-1],
        PROSE * 3,
        "a" + "\n" * 3000 + "b c" + " " * 3000 + "d",
        *("".join(rng.choices([*PROSE, "\n", "\n\n"], k=200)) for _ in range(10)),
    ):
        for most in range(1, 120, 2):
            found = tokenizer.truncate_text(text, most, side=side, boundary=kind)  # type: ignore[arg-type]
            assert found == expected(tokenizer, text, most, side, kind)
            seen.add(found)
    assert len(seen) > 50


def test_missing_packages_are_named(monkeypatch, tokenizer):
    monkeypatch.setitem(sys.modules, "icu4py", None)
    for boundaries in ("paragraph", "word", ["sentence"]):
        with pytest.raises(MissingExtraError, match=r"python -m pip install '\.\[chunks\]'.*\['paragraph'\]"):
            levels(boundaries)
    levels(["paragraph"])
    with pytest.raises(MissingExtraError, match=r"\[chunks\]"):
        tokenizer.truncate_text(PROSE, 5, boundary="word")
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    with pytest.raises(MissingExtraError, match=r"markdown_it.*\[chunks\]"):
        levels(["markdown"])
    pytest.importorskip("tree_sitter")
    with pytest.raises(MissingExtraError, match="pip install tree-sitter-of-nobody"):
        levels(["code:of-nobody"])
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    with pytest.raises(MissingExtraError, match=r"tree_sitter.*\[chunks\]"):
        levels("json")
