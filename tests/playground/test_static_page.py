"""The page of ``crayon-hf inspect --html`` contains its data, and no text becomes markup."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from crayon_hf import MissingExtraError, Tokenizer
from crayon_hf.playground.page import live_page
from crayon_hf.playground.session import Session
from tests.cli.shell import failure, good
from tests.playground.client import HOSTILE, TEXTS, embedded, make_request
from tests.support.command import call
from tests.support.pages import Page


def page_of(text: str, *options: object) -> str:
    return good(call("inspect", "--html", "-", *options, stdin=text))


@pytest.mark.parametrize("text", [*TEXTS, *HOSTILE])
def test_the_tokens_of_a_text(gpt2_like: Path, wordpiece_like: Path, text: str) -> None:
    """The page's rows and derivations equal the playground's answers."""
    for path in (gpt2_like, wordpiece_like):
        data = embedded(page_of(text, "-t", path))
        session = Session(lambda name: name)
        answer = session.encode(make_request(text, path))
        (panel,), (wanted,) = data["panels"], answer["panels"]
        assert (data["characters"], data["bytes"], data["left_out"]) == (answer["characters"], answer["bytes"], 0)
        assert (panel["rows"], panel["count"]) == (wanted["rows"], wanted["count"])
        for token, step in enumerate(panel["steps"]):
            assert panel["derivations"][step] == session.explain(make_request(text, path, panel=0, token=token))


def test_both_ways(gpt2_like: Path) -> None:
    text = "an unlikely concatenation"
    exact, greedy = embedded(page_of(text, "-t", gpt2_like, "--mode", "both"))["panels"]
    engine = Tokenizer.from_file(gpt2_like)._current_engine()
    assert [row[0] for row in exact["rows"]] == engine.encode_ids(text)
    assert [row[0] for row in greedy["rows"]] == engine.greedy().encode_ids(text)
    assert exact["differing"] == sum(row[7] for row in exact["rows"]) > 0
    assert greedy["differing"] == sum(row[7] for row in greedy["rows"]) > 0
    assert "Longest match" in greedy["derivations"][greedy["steps"][0]]["notes"][0]


def test_the_file(gpt2_like: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    assert good(call("inspect", "a <b>", "-t", gpt2_like, "--html", path)) == f"wrote {path}\n"
    assert path.read_text(encoding="utf-8") == page_of("a <b>", "-t", gpt2_like)
    for option in ("--json", "--trace"):
        assert failure(call("inspect", "x", "--html", "-", option), 2).startswith("--html cannot be combined")


def test_any_bytes(gpt2_like: Path) -> None:
    data = embedded(good(call("inspect", "--html", "-", "--bytes", "-t", gpt2_like, stdin=b"ab\xff\xc3")))
    assert data["is_bytes"]
    assert "characters" not in data
    assert [row[4:6] for row in data["panels"][0]["rows"]][-1] == [3, 4]


def test_a_long_text_is_capped(gpt2_like: Path) -> None:
    text = "Some words, over and over. " * 2000
    data = embedded(page_of(text, "-t", gpt2_like))
    assert data["panels"][0]["count"] == len(data["panels"][0]["rows"]) == 1000
    assert data["bytes"] + data["left_out"] == len(text)
    whole = page_of(text, "-t", gpt2_like, "--all")
    data = embedded(whole)
    assert data["left_out"] == 0
    assert data["panels"][0]["rows"][-1][5] == len(text)
    assert len(data["panels"][0]["derivations"]) < 100  # equal derivations are stored once
    assert len(whole) < 120 * data["panels"][0]["count"]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_text_is_markup(gpt2_like: Path, text: str) -> None:
    plain = Page(page_of("x", "-t", gpt2_like))
    for page in (page_of(text, "-t", gpt2_like), live_page([text], text).decode()):
        assert [tag for tag, _ in Page(page).elements].count("script") == 3
        assert not [
            name for _, names in Page(page).elements for name in names if name.startswith("on") or name == "style"
        ]
        assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u200b\ufeff]", page)
    assert Page(page_of(text, "-t", gpt2_like)).text == plain.text
    assert "connect-src" not in page_of(text, "-t", gpt2_like)


def test_half_of_a_surrogate_pair() -> None:
    assert embedded(live_page(["\udc80"], "\ud83d").decode())["text"] == "\ud83d"


def test_without_jinja(gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from crayon_hf.util.page import rendering

    rendering._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    message = failure(call("inspect", "x", "-t", gpt2_like, "--html", "-"))
    assert re.fullmatch(r"a page needs jinja2, which .*'\.\[report\]'.*", message)
    assert message == failure(call("playground", gpt2_like))
    with pytest.raises(MissingExtraError):
        live_page([], "")
