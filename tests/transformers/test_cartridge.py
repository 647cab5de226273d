"""A cartridge in a tokenizer's directory is used for every class of transformers if it matches the tokenizer.json."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

import crayon_hf
from crayon_hf import _core
from tests.hub.hub_tokenizers import pattern_of_tiktoken, repository, unsound, with_token
from tests.transformers.comparing import plain

TEXT = "The quick brown <pad> fox </s> [SEP] déjà vu; it's what they've said 12345"
CONFIG = '{"tokenizer_class": "PreTrainedTokenizerFast"}'


@pytest.fixture
def directory(tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    """A function that puts files into a directory with a tokenizer_config.json, and returns the directory."""

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


def test_it_is_used(
    directory: Any, gpt2_like: Path, settled: Path, opened: list[Any], monkeypatch: pytest.MonkeyPatch
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
    assert len(opened) == 2  # the second opening of each


CASES = ("damaged", "cut", "empty", "no cartridge", "another revision", "of another")


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused(
    directory: Any, gpt2_like: Path, llama3_like: Path, settled: Path, opened: list[Any], case: str
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
    assert len(opened) == 1


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


def test_the_reading_of_tiktoken(directory: Any, gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cartridge with tiktoken's ids is used for tokenizers' only if both surely read the pattern alike."""
    place = directory(pattern_of_tiktoken(gpt2_like.read_bytes()))
    ours = crayon_hf.AutoTokenizer.from_pretrained(place)
    assert facts(ours)[0] != "repository"
    assert "regular expressions of tiktoken" in facts(ours)[1]
    assert plain(ours(TEXT)) == plain(AutoTokenizer.from_pretrained(place)(TEXT))


def test_a_cartridge_in_memory(
    directory: Any, gpt2_like: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = directory({"tokenizer.json": gpt2_like.read_bytes()})
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert facts(crayon_hf.AutoTokenizer.from_pretrained(place)) == ("memory", None)


def test_a_cartridge_that_is_there_is_made_anew(pair: tuple[Any, Any], tmp_path: Path) -> None:
    _, ours = pair
    for prefix in ("", "mine-"):
        ours.backend_tokenizer.save(tmp_path / f"{prefix}tokenizer.dat")
    ours.add_tokens(["quick"])
    for prefix in ("", "mine-"):
        names = ours.save_pretrained(tmp_path, filename_prefix=prefix[:-1] or None)
        cartridge = tmp_path / f"{prefix}tokenizer.dat"
        assert names[-1] == str(cartridge)
        assert crayon_hf.Tokenizer.from_file(cartridge).encode(TEXT).ids == ours.backend_tokenizer.encode(TEXT).ids
