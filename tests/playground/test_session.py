"""The playground's answers: rows of tokens, differences between columns, and the comparison with the reference."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from crayon_hf.cli.tokenizers import local_name
from crayon_hf.display.cells import plain
from crayon_hf.playground.reference import compare_ids
from crayon_hf.playground.requests import BadRequestError, Request
from crayon_hf.playground.session import Session
from tests.playground.client import HALF, HOSTILE, TEXTS, make_request, with_other_merges
from tests.support.versions import before_1


@pytest.fixture
def session() -> Session:
    return Session(local_name)


def shown(row: list[Any]) -> str:
    """Return the text of a token's row in an answer."""
    return "".join(part if isinstance(part, str) else part[0] for part in row[1] if part != 0)


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("as_text", [False, True])
def test_rows_are_the_tokens_of_the_reference(
    session: Session, any_vocabulary: Path, special: bool, as_text: bool
) -> None:
    stock = tokenizers.Tokenizer.from_file(str(any_vocabulary))
    stock.encode_special_tokens = as_text
    for text in TEXTS:
        encoding = stock.encode(text, add_special_tokens=special)
        options = {"add_special_tokens": special, "special_as_text": as_text}
        answer = session.encode(make_request(text, any_vocabulary, **options))
        (panel,) = answer["panels"]
        assert (answer["characters"], answer["bytes"]) == (len(text), len(text.encode()))
        assert panel["count"] == len(panel["rows"]) == len(encoding)
        assert [row[0] for row in panel["rows"]] == encoding.ids
        assert [tuple(row[4:6]) for row in panel["rows"]] == encoding.offsets
        assert [row[6] == "inserted" for row in panel["rows"]] == list(map(bool, encoding.special_tokens_mask))
        assert [row[2] for row in panel["rows"]] == [plain(stock.id_to_token(id)) for id in encoding.ids]
        check = session.check(make_request(text, any_vocabulary, panel=0, **options))
        assert check["same"], check
        assert check["ours"] == check["theirs"] == encoding.ids[: len(check["ours"])]
        assert check["reference"] == f"tokenizers {tokenizers.__version__}"


@pytest.mark.parametrize("text", [*TEXTS, *HOSTILE])
def test_chunks_are_parts_of_the_whole(session: Session, wordpiece_like: Path, roberta_like: Path, text: str) -> None:
    names = (wordpiece_like, roberta_like)
    whole = session.encode(make_request(text, *names))["panels"]
    parts: list[list[Any]] = [[], []]
    for first in range(0, 200, 3):
        panels = session.encode(make_request(text, *names, first=first, count=3))["panels"]
        for part, panel in zip(parts, panels, strict=True):
            part += panel["rows"]
    assert parts == [panel["rows"] for panel in whole]


@pytest.mark.parametrize("text", HOSTILE)
def test_invisible_characters_are_spelled_out(
    session: Session, gpt2_like: Path, wordpiece_like: Path, text: str
) -> None:
    for panel in session.encode(make_request(text, gpt2_like, wordpiece_like))["panels"]:
        for row in panel["rows"]:
            for said in (shown(row), row[2], row[3]):
                assert plain(said).replace("·", " ") == said.replace("·", " ")


def test_a_token_is_truncated(session: Session, gpt2_like: Path, tmp_path: Path) -> None:
    stock = tokenizers.Tokenizer.from_file(str(gpt2_like))
    stock.add_tokens(["z" * 5000])
    stock.save(str(tmp_path / "tokenizer.json"))
    ((row,),) = [panel["rows"] for panel in session.encode(make_request("z" * 5000, tmp_path))["panels"]]
    assert shown(row) == "z" * 120 + "…"
    assert row[3].endswith(" … (5000)")
    assert row[6] == "added"


def test_differing_tokens(session: Session, gpt2_like: Path, wordpiece_like: Path, tmp_path: Path) -> None:
    """Tokens that end at different places in two columns are marked. A space before a word makes no difference."""
    same = shutil.copy(gpt2_like, tmp_path / "same.json")
    first, second = session.encode(make_request("Hello world", gpt2_like, same))["panels"]
    assert first["differing"] == second["differing"] == 0
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"the": 0, "quick": 1, "[UNK]": 2}, "[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    words.save(str(tmp_path / "words.json"))
    other = with_other_merges(gpt2_like, tmp_path / "other.json")
    panels = session.encode(make_request(" the quick", gpt2_like, tmp_path / "words.json"))["panels"]
    assert [[shown(row) for row in panel["rows"]] for panel in panels] == [["·the", "·quick"], ["the", "quick"]]
    assert [panel["differing"] for panel in panels] == [0, 0]
    panels = session.encode(make_request(" the quick", gpt2_like, tmp_path / "words.json", other))["panels"]
    marked = [[shown(row) for row in panel["rows"] if row[7]] for panel in panels]
    assert marked[0] == ["·quick"]
    assert marked[1] == ["quick"]
    assert "".join(marked[2]) == "·quick"
    assert len(marked[2]) > 1
    assert [panel["differing"] for panel in panels] == list(map(len, marked))


def test_an_error_stays_in_its_column(session: Session, gpt2_like: Path, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    bad, unknown, good = session.encode(make_request("Hello", tmp_path / "x.json", "no-such", gpt2_like))["panels"]
    assert "x.json" in bad["error"]
    assert "no tokenizer 'no-such'" in unknown["error"]
    assert good["count"] > 0
    for ask in (session.check, session.explain):
        assert ask(make_request("Hello", tmp_path / "x.json", panel=0, token=0))["error"] == bad["error"]
    assert session.open_named(Request(json.dumps({"name": str(tmp_path / "x.json")}).encode())) == bad
    shutil.copy(gpt2_like, tmp_path / "x.json")
    assert session.open_named(Request(json.dumps({"name": str(tmp_path / "x.json")}).encode())) == {}
    assert session.encode(make_request("Hello", tmp_path / "x.json", "no-such", gpt2_like))["panels"] == [
        good,
        unknown,
        good,
    ]
    for name in ("", None, 1):
        with pytest.raises(BadRequestError, match="name is"):
            session.open_named(Request(json.dumps({"name": name}).encode()))


def test_half_of_a_surrogate_pair(session: Session, gpt2_like: Path) -> None:
    for answer in (
        session.encode(make_request(HALF, gpt2_like)),
        session.check(make_request(HALF, gpt2_like, panel=0)),
        session.explain(make_request(HALF, gpt2_like, panel=0, token=0)),
    ):
        assert answer["error"].startswith("character 6 of the text is half of a surrogate pair (U+D83D)")


@before_1("class for tokenizers without an engine")
def test_a_tokenizer_that_is_not_native(session: Session, gpt2_like: Path, tmp_path: Path) -> None:
    model = tokenizers.models.BPE(
        {"<unk>": 0, "a": 1, "a</w>": 2}, [], unk_token="<unk>", byte_fallback=True, end_of_word_suffix="</w>"
    )
    tokenizers.Tokenizer(model).save(str(tmp_path / "x.json"))
    with pytest.warns(match="byte_fallback"):
        panel, native = session.encode(make_request("aa", tmp_path / "x.json", gpt2_like))["panels"]
    assert panel["note"].startswith("tokenizers encodes: ")
    assert native["note"] == ""
    assert session.check(make_request("aa", tmp_path / "x.json", panel=0))["same"]
    assert "byte_fallback" in session.explain(make_request("aa", tmp_path / "x.json", panel=0, token=0))["notes"][0]


# -- the reference


def test_a_difference_is_found(session: Session, gpt2_like: Path, tmp_path: Path) -> None:
    """The tokenizer.json changes after our tokenizer is open, so the reference opens another vocabulary, and the ids
    differ."""
    path = tmp_path / "tokenizer.json"
    shutil.copy(gpt2_like, path)
    ours = session.encode(make_request("the the quick", path))["panels"][0]["rows"]
    with_other_merges(gpt2_like, path)
    theirs = tokenizers.Tokenizer.from_file(str(path)).encode("the the quick").ids
    check = session.check(make_request("the the quick", path, panel=0))
    ids = [row[0] for row in ours]
    at = next(i for i, (our, their) in enumerate(zip(ids, theirs, strict=False)) if our != their)
    assert (check["same"], check["at"], check["count"]) == (False, at, len(theirs))
    assert check["ours"] == ids[: len(check["ours"])]
    assert check["theirs"] == theirs[: len(check["theirs"])]


@pytest.mark.parametrize(
    ("ours", "theirs", "same", "at"),
    [([], [], True, 0), ([1], [], False, 0), ([1, 2], [1, 2, 3], False, 2), ([1, 2, 3], [1, 5, 3], False, 1)],
)
def test_compare_ids(ours: list[int], theirs: list[int], same: bool, at: int) -> None:
    found = compare_ids(ours, theirs)
    assert (found["same"], found["at"]) == (same, at)
    assert (found["ours"], found["theirs"]) == (ours, theirs)
    behind = compare_ids([*range(100), *ours], [*range(100), *theirs])
    assert (behind["same"], behind["at"]) == (same, 100 + at)
    assert same or behind["first"] == 92 + at


def test_truncation_and_padding_of_a_file_are_left_out(session: Session, gpt2_like: Path, tmp_path: Path) -> None:
    stock = tokenizers.Tokenizer.from_file(str(gpt2_like))
    stock.enable_truncation(2)
    stock.enable_padding(length=50)
    stock.save(str(tmp_path / "tokenizer.json"))
    (panel,) = session.encode(make_request("the quick brown fox", tmp_path))["panels"]
    assert 2 < panel["count"] < 50
    assert session.check(make_request("the quick brown fox", tmp_path, panel=0))["same"]


def test_references_of_other_kinds(session: Session, shared: Path) -> None:
    for name, reference in (
        ("r50k_base/r50k_base.tiktoken", "tiktoken"),
        ("t5-small/spiece.model", "sentencepiece"),
        ("llama2/tokenizer.json", "tokenizers"),
    ):
        path = shared / "vocab" / name
        if not path.exists():
            continue
        for text in TEXTS:
            for as_text in (False, True):
                check = session.check(make_request(text, path, panel=0, special_as_text=as_text))
                assert check["same"], (name, text, check)
                assert check["reference"].startswith(reference)


# -- requests


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"1", b"\xff", b"[" * 100_000, b'{"text": ' + b"1" * 5000 + b"}", b"null"],
)
def test_invalid_json(data: bytes) -> None:
    with pytest.raises(BadRequestError, match=r"the request is|text is"):
        Request(data).query()


@pytest.mark.parametrize(
    "change",
    [
        {"text": 1}, {"text": None}, {"names": []}, {"names": ["a"] * 5}, {"names": [1]}, {"names": [""]},
        {"names": "lite"}, {"add_special_tokens": 1}, {"special_as_text": "no"}, {"first": -1}, {"first": True},
        {"first": 1 << 40}, {"count": 1e3}, {"count": 2001},
    ],
)  # fmt: skip
def test_fields_of_another_type(session: Session, gpt2_like: Path, change: dict[str, Any]) -> None:
    with pytest.raises(BadRequestError, match=next(iter(change))):
        session.encode(make_request(**{"text": "x", "names": [str(gpt2_like)]} | change))


def test_places_beyond_the_end(session: Session, gpt2_like: Path) -> None:
    with pytest.raises(BadRequestError, match="token"):
        session.explain(make_request("x", gpt2_like, panel=0, token=1))
    with pytest.raises(BadRequestError, match="panel"):
        session.check(make_request("x", gpt2_like, panel=1))
    assert session.encode(make_request("x", gpt2_like, first=5))["panels"][0]["rows"] == []
