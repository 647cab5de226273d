"""The tables of calls in the guides: in each line, the library's call and ours give the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
import tokenizers

import crayon_hf
from crayon_hf import budgets
from crayon_hf.formats.tiktoken import R50K_PATTERN, write_ranks
from crayon_hf.util.byte_level import BYTE_LEVEL
from tests.support.versions import before_1

DOCS = Path(__file__).parents[2] / "docs"
TITLES = re.compile(r"^\| with [\w ]+ \| with crayon-hf \| \|$", re.MULTILINE)
LINE = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)
TEXT = "The quick brown fox was here, and it didn't jump. Twelve more words stand behind these."
TEXTS = [TEXT, "", "Hello, world!", "日本 été 🙂"]

Names = dict[str, Any]


def lines(page: str) -> list[Any]:
    """The pairs of calls in the tables of a page: the library's call, and ours."""
    text = (DOCS / page).read_text(encoding="utf-8")
    tables = [text[title.end() :].partition("\n\n")[0] for title in TITLES.finditer(text)]
    found = [line for table in tables for line in LINE.findall(table)]
    assert len(found) == sum(table.count("\n") - 1 for table in tables) > 5
    return [pytest.param(*each, id=each[0]) for each in found]


def same(theirs: str, ours: str, names: Names, of_theirs: Names, of_ours: Names) -> None:
    expected = plain(eval(theirs, names | of_theirs))
    assert expected not in (None, [], "")
    assert plain(eval(ours, names | of_ours)) == expected


def plain(value: Any) -> Any:
    """Turn a result into lists: (ids, row splits) become a list of ids for each text, and chunks of a file their
    ids."""
    if isinstance(value, Iterator):
        return [id for chunk in value for id in chunk.ids.tolist()]
    if isinstance(value, tuple) and isinstance(value[0], np.ndarray):
        ids, splits = value
        return [ids[start:end].tolist() for start, end in pairwise(splits)]
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("book.txt").write_text(TEXT * 9, encoding="utf-8")


@before_1("the offsets of the library")
@pytest.mark.parametrize(("theirs", "ours"), lines("from-tokenizers.md"))
@pytest.mark.usefixtures("book")
def test_tokenizers(theirs: str, ours: str, any_vocabulary: Path) -> None:
    library, tok = (each.from_file(str(any_vocabulary)) for each in (tokenizers.Tokenizer, crayon_hf.Tokenizer))
    same(theirs, ours, {"text": TEXT, "texts": TEXTS}, {"tok": library}, {"tok": tok})


@pytest.fixture(scope="module")
def encodings(tmp_path_factory: pytest.TempPathFactory) -> tuple[Names, Names]:
    """The names that calls in the tiktoken guide use: with tiktoken's encoding, and with ours of the same ranks."""
    byte_of = {char: byte for byte, char in BYTE_LEVEL.items()}
    tokens = crayon_hf.Tokenizer.from_profile("lite").get_vocab(with_added_tokens=False).items()
    ranks = {token.translate(byte_of).encode("latin-1"): rank for token, rank in tokens}
    special = {"<|endoftext|>": len(ranks)}
    library, enc = (
        each.Encoding("mine", pat_str=R50K_PATTERN, mergeable_ranks=ranks, special_tokens=special)
        for each in (tiktoken, crayon_hf.tiktoken)
    )
    path = tmp_path_factory.mktemp("guides") / "mine.tiktoken"
    path.write_bytes(write_ranks(ranks))
    tok = crayon_hf.Tokenizer.from_tiktoken(path, pattern=R50K_PATTERN, special_tokens=special)
    return {"enc": library}, {"enc": enc, "tok": tok, **vars(budgets)}


@pytest.mark.parametrize(("theirs", "ours"), lines("from-tiktoken.md"))
def test_tiktoken(theirs: str, ours: str, encodings: tuple[Names, Names]) -> None:
    text = TEXT + "<|endoftext|>" if "special" in theirs else TEXT
    ids = encodings[0]["enc"].encode(text, allowed_special="all")
    same(theirs, ours, {"text": text, "texts": [*TEXTS, text], "ids": ids}, *encodings)
