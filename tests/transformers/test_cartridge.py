"""The cartridge that came with the files of a tokenizer: used for every class when it is that of the tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

import crayon_hf
from crayon_hf import _core
from crayon_hf.formats import convert, write
from crayon_hf.transformers import loading
from tests.hub.hub_tokenizers import LIES, pattern_of_tiktoken, repository, unsound, with_token
from tests.transformers.comparing import plain

TEXT = "The quick brown <pad> fox </s> [SEP] déjà vu; it's what they've said 12345"
CONFIG = '{"tokenizer_class": "PreTrainedTokenizerFast"}'


@pytest.fixture
def directory(tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    """Puts files into a directory with a configuration."""

    def put(files: dict[str, bytes]) -> Path:
        place = tmp_path / "repository"
        place.mkdir(exist_ok=True)
        (place / "tokenizer_config.json").write_text(CONFIG)
        for name, data in files.items():
            (place / name).write_bytes(data)
        return place

    return put


def facts(tokenizer: Any) -> tuple[Any, Any]:
    report = tokenizer.engine_report()
    assert report == tokenizer.backend_tokenizer.engine_report()
    assert report["engine"] == "native"
    return report["origin"], report["refused"]


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each load, whether it was from a snapshot."""
    seen: list[bool] = []
    restore = loading.snapshots.restore  # type: ignore[attr-defined]

    def spy(made_of: Any) -> Any:
        found = restore(made_of)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(loading.snapshots, "restore", spy)  # type: ignore[attr-defined]
    return seen


def test_it_is_used(
    directory: Any, gpt2_like: Path, settled: Path, restored: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = directory(repository(gpt2_like))
    stock = AutoTokenizer.from_pretrained(place)
    monkeypatch.setattr(_core, "compile_tokenizer_json", None)
    for load in (crayon_hf.AutoTokenizer.from_pretrained, crayon_hf.CrayonTokenizerFast.from_pretrained):
        for _ in range(2):
            ours = load(place)
            assert facts(ours) == ("repository", None)
            assert ours.engine_report()["cartridge"] == str(place / "tokenizer.dat")
            assert plain(ours(TEXT, TEXT)) == plain(stock(TEXT, TEXT))
            assert ours.backend_tokenizer.to_str() == stock.backend_tokenizer.to_str()
    assert restored == [False, True, False, True]


def test_what_is_saved_is_used(repository: Path, tmp_path: Path) -> None:
    """But where the class builds its own backend, whose scores are not those of the file."""
    ours = crayon_hf.AutoTokenizer.from_pretrained(repository)
    assert facts(ours)[1] is None
    (tmp_path / "tokenizer.dat").touch()
    ours.save_pretrained(tmp_path)
    again = crayon_hf.AutoTokenizer.from_pretrained(tmp_path)
    if ours.backend_tokenizer.engine_info().get("merges", 0) or repository.name == "bert":
        assert facts(again) == ("repository", None)
    assert plain(again(TEXT, TEXT)) == plain(AutoTokenizer.from_pretrained(tmp_path)(TEXT, TEXT))


CASES = ("damaged", "cut", "empty", "no cartridge", "another revision", "of another")


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused(
    directory: Any, gpt2_like: Path, llama3_like: Path, settled: Path, restored: list[bool], case: str
) -> None:
    source = gpt2_like.read_bytes()
    cartridge, reason = unsound(source, llama3_like.read_bytes())[case]
    place = directory({"tokenizer.json": source, "tokenizer.dat": cartridge})
    stock = AutoTokenizer.from_pretrained(place)
    said = set()
    for _ in range(2):
        ours = crayon_hf.AutoTokenizer.from_pretrained(place)
        origin, refused = facts(ours)
        assert origin == "cache"
        assert reason in refused
        said.add(refused)
        assert plain(ours(TEXT, TEXT)) == plain(stock(TEXT, TEXT))
    assert len(said) == 1
    assert restored == [False, True]


def test_every_case_is_tested(gpt2_like: Path, llama3_like: Path) -> None:
    assert {*CASES, *LIES} == set(unsound(gpt2_like.read_bytes(), llama3_like.read_bytes()))


def test_files_that_change(directory: Any, gpt2_like: Path, settled: Path) -> None:
    files = repository(gpt2_like)
    place = directory(files)
    load = crayon_hf.AutoTokenizer.from_pretrained
    assert facts(load(place)) == ("repository", None)
    directory({"tokenizer.json": with_token(gpt2_like, "<new>")})
    origin, refused = facts(load(place))
    assert origin == "cache"
    assert "another tokenizer.json" in refused
    assert load(place).convert_tokens_to_ids("<new>") is not None
    directory(repository(with_token(gpt2_like, "<new>")))
    assert facts(load(place)) == ("repository", None)
    (place / "tokenizer.dat").unlink()
    assert facts(load(place)) == ("cache", None)
    directory(files)
    assert facts(load(place)) == ("repository", None)


def test_what_transformers_changes(directory: Any, gpt2_like: Path) -> None:
    """Arguments that change the backend: it is another view of the same cartridge."""
    place = directory(repository(gpt2_like))
    for token, arguments in (
        ("<extra>", {"additional_special_tokens": ["<extra>"]}),
        ("<end>", {"eos_token": "<end>"}),
    ):
        ours = crayon_hf.AutoTokenizer.from_pretrained(place, **arguments)
        stock = AutoTokenizer.from_pretrained(place, **arguments)
        text = "a <extra> b <end> c"
        assert facts(ours) == ("repository", None)
        assert ours.convert_tokens_to_ids(token) == stock.convert_tokens_to_ids(token)
        assert plain(ours(text)) == plain(stock(text))


def test_the_reading_of_tiktoken(directory: Any, gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cartridge with tiktoken's ids stands for tokenizers' only where both surely read the pattern alike."""
    place = directory(pattern_of_tiktoken(gpt2_like.read_bytes()))
    ours = crayon_hf.AutoTokenizer.from_pretrained(place)
    assert facts(ours)[0] != "repository"
    assert "regular expressions of tiktoken" in facts(ours)[1]
    assert plain(ours(TEXT)) == plain(AutoTokenizer.from_pretrained(place)(TEXT))
    document = json.loads((place / "tokenizer.json").read_bytes())
    both = next(
        p for p in _core._testing.known_patterns("rust_regex") if p in _core._testing.known_patterns("oniguruma")
    )
    document["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = both
    data = json.dumps(document, ensure_ascii=False).encode()
    cartridge = _core.compile_tokenizer_json(data, '{"reference":"tiktoken"}', "rust_regex")
    directory({"tokenizer.json": data, "tokenizer.dat": cartridge})
    ours = crayon_hf.AutoTokenizer.from_pretrained(place)
    assert facts(ours) == ("repository", None)
    assert plain(ours(TEXT)) == plain(AutoTokenizer.from_pretrained(place)(TEXT))


def test_reports(directory: Any, gpt2_like: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = directory({"tokenizer.json": gpt2_like.read_bytes()})
    load = crayon_hf.AutoTokenizer.from_pretrained
    with monkeypatch.context() as patch:
        (tmp_path / "file").write_text("")
        patch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "file" / "cache"))
        assert facts(load(place)) == ("memory", None)

    def refuse(*arguments: Any) -> bytes:
        raise crayon_hf.UnsupportedError("a component of this test")

    monkeypatch.setattr(_core, "compile_tokenizer_json", refuse)
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "empty"))
    with pytest.warns(crayon_hf.DelegatedWarning):
        report = load(place).engine_report()
    assert (report["engine"], report["origin"], report["cartridge"]) == ("delegated", None, None)
    assert "of this test" in report["reason"]

    def unreadable(*arguments: Any) -> Any:
        raise crayon_hf.VocabularyError("a tokenizer of this test")

    monkeypatch.setattr(crayon_hf.Tokenizer, "from_tokenizers", unreadable)
    monkeypatch.setattr(crayon_hf.Tokenizer, "from_file", unreadable)
    with pytest.warns(crayon_hf.DelegatedWarning):
        tokenizer = load(place)
    assert tokenizer.engine_report().keys() == report.keys()
    assert tokenizer.engine_report()["engine"] == "delegated"


def test_special_tokens_that_a_config_spells_out(gpt2_like: Path, tmp_path: Path) -> None:
    """With flags, as older configs have them: what `convert` writes is the same tokenizer in every way to open it."""
    source, place = tmp_path / "source", tmp_path / "converted"
    source.mkdir()
    document = json.loads(gpt2_like.read_bytes())
    known = {token["content"] for token in document["added_tokens"]}
    first, second = [token for token in document["model"]["vocab"] if len(token) > 1 and token not in known][:2]
    (source / "tokenizer.json").write_text(json.dumps(document))
    flags = {"lstrip": True, "normalized": True, "rstrip": False, "single_word": False}
    named = {
        "bos_token": {"__type": "AddedToken", "content": first, **flags},
        "eos_token": {"__type": "AddedToken", "content": second},
    }
    (source / "tokenizer_config.json").write_text(json.dumps({**json.loads(CONFIG), **named}))
    write(convert(source), place, cartridge=True)
    ours, stock = crayon_hf.AutoTokenizer.from_pretrained(place), AutoTokenizer.from_pretrained(place)
    assert facts(ours) == ("repository", None)
    assert stock.all_special_tokens == [first, second]
    bare = crayon_hf.Tokenizer.from_file(str(place))
    for text in (f"a  {first}b{second}c", first + second, TEXT):
        ids = stock(text)["input_ids"]
        assert ours(text)["input_ids"] == bare.encode(text).ids == ids
        for skip in (True, False):
            said = stock.decode(ids, skip_special_tokens=skip)
            assert ours.decode(ids, skip_special_tokens=skip) == bare.decode(ids, skip_special_tokens=skip) == said
