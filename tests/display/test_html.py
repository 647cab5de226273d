"""Tokens as HTML for notebooks: escaped, and of bounded size."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from crayon_hf import AutoTokenizer, Tokenizer
from crayon_hf.display.html import MOST_TOKENS
from tests.playground.client import HOSTILE
from tests.support.pages import Page


def titles_of(page: Page) -> list[str]:
    return [attributes["title"] for _, attributes in page.elements if "title" in attributes]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(text: str, gpt2_like: Path, wordpiece_like: Path) -> None:
    for path in (gpt2_like, wordpiece_like):
        shown = Page(Tokenizer.from_file(path).encode(text)._repr_html_())
        assert {tag for tag, _ in shown.elements} <= {"style", "div", "b", "i", "span", "u", "br", "wbr"}
        assert {name for _, attributes in shown.elements for name in attributes} <= {"class", "title"}
        assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u200b\ufeff]", "".join(titles_of(shown)))


def test_an_encoding(gpt2_like: Path) -> None:
    encoding = Tokenizer.from_file(gpt2_like).encode("Hello world\n")
    shown = Page(encoding._repr_html_())
    assert len(titles_of(shown)) == len(encoding)
    of_tokens = zip(titles_of(shown), encoding.ids, encoding.tokens, encoding.offsets, strict=True)
    for title, id, token, (start, end) in of_tokens:
        first, second, *_, last = title.splitlines()
        assert (first, second, last) == (f"id {id}", f"token {token}", f"chars {start}-{end}")
    text = html.unescape(re.sub(r"<style>.*?</style>|<b>.*?</b>|<[^>]*>", "", encoding._repr_html_(), flags=re.DOTALL))
    assert text.strip() == "Hello·world↵"  # byte-level spelling is decoded


def test_long_texts_are_cut(gpt2_like: Path) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    encoding = tokenizer.encode("a b " * 20_000)
    shown = encoding._repr_html_()
    assert shown.count("<span") == MOST_TOKENS
    assert f"… and {len(encoding) - MOST_TOKENS:,} more" in shown
    assert len(shown) < 200_000
    tokenizer.add_tokens(["z" * 5000])
    assert len(tokenizer.encode("z" * 5000)._repr_html_()) < 4000


def test_tokenizers(gpt2_like: Path, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    shown = tokenizer._repr_html_()
    assert "<i>tokens</i> 2,000" in shown
    assert "chars 0-" in shown
    (tmp_path / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    shown = Tokenizer.from_file(tmp_path / "tokenizer.json")._repr_html_()
    assert "<b>Tokenizer</b>" in shown
    assert f"<i>from</i> {tmp_path.name}/tokenizer.json" in shown  # the source, not the cartridge in the cache
    opened = AutoTokenizer.from_pretrained(tmp_path)
    shown = opened._repr_html_()
    assert f"<b>{type(opened).__name__}</b>" in shown
    assert "<i>tokens</i> 2,000" in shown
    assert f"<i>from</i> {tmp_path.name}" in shown
    assert "<i>from</i> memory" in Tokenizer.from_str(gpt2_like.read_text(encoding="utf-8"))._repr_html_()

    import tokenizers

    assert "Tokenizer" in Tokenizer(tokenizers.models.BPE())._repr_html_()  # an untrained tokenizer has no sample
