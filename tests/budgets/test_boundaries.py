"""Finders of boundaries in texts: their results do not depend on the order in which places are asked for."""

from __future__ import annotations

import random
import re
import sys
from itertools import pairwise

import pytest

from crayon_hf.budgets.boundaries import finders, levels
from crayon_hf.errors import MissingExtraError

TEXT = "One. Two three.\r\nFour\n \t\n  Five, six.\n\n\nSeven\u2029Eight"


def places(text, boundary):
    """All places of one kind of boundary in a text, after checking that searches from the left and from the right find
    the same."""
    [finder] = finders(text, [boundary])
    found, at = [], finder.first(0, len(text) + 1)
    while at is not None:
        found.append(at)
        at = finder.first(at + 1, len(text) + 1)
    [again] = finders(text, [boundary])
    back, at = [], again.last(-1, len(text))
    while at is not None:
        back.append(at)
        at = again.last(-1, at - 1)
    assert back[::-1] == found
    return found


def parts(text, boundary):
    found = places(text, boundary)
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


def test_the_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "icu4py", None)
    for boundaries in ("paragraph", "word", ["sentence"]):
        with pytest.raises(MissingExtraError, match=r"python -m pip install '\.\[chunks\]'.*\['paragraph'\]"):
            levels(boundaries)
    levels(["paragraph"])
