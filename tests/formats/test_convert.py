"""Converting any source to a directory, which stock transformers opens. Our tokenizers open its cartridge, which is not
compiled again."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers

import crayon_hf
from crayon_hf import CartridgeError, SourceMissingError, Tokenizer, UnsupportedError, VocabularyError, _core
from crayon_hf.cartridges import cache
from crayon_hf.formats import convert, repository, write
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.tiktoken import R50K_PATTERN

TEXTS = ["Hello, wörld! It's 2024.\n\n  日本 🙂", "a<|end|>b <|endoftext|>", "", " x" * 50]
SPECIALS = {"<|end|>": 3000, "<|endoftext|>": 3001}


@pytest.fixture(scope="module")
def encoding(ranks) -> tiktoken.Encoding:
    return tiktoken.Encoding("mine", pat_str=R50K_PATTERN, mergeable_ranks=ranks, special_tokens=SPECIALS)


@pytest.fixture
def sources(source_files) -> dict[str, Path]:
    return source_files


OPTIONS: dict[str, dict[str, Any]] = {"tiktoken": {"pattern": R50K_PATTERN, "special_tokens": SPECIALS}}
NATIVE = ["tokenizer.json", "huggingface", "slow", "merges", "bert", "cartridge", "tiktoken"]


@pytest.fixture(params=NATIVE)
def converted(request, sources) -> Converted:
    return convert(sources[request.param], **OPTIONS.get(request.param, {}))


def test_directory(converted, tmp_path, monkeypatch):
    """Our tokenizer opens the written directory without compiling, and gives the ids of stock tokenizers and
    transformers."""
    from transformers import AutoTokenizer

    paths = write(converted, tmp_path / "new" / "repo")
    names = ("tokenizer.json", "tokenizer_config.json", "tokenizer.dat")
    assert paths == [str(tmp_path / "new" / "repo" / name) for name in names]
    assert sorted(os.listdir(tmp_path / "new" / "repo")) == sorted(names)
    raw = tokenizers.Tokenizer.from_str(converted.tokenizer_json.decode())
    stock = AutoTokenizer.from_pretrained(tmp_path / "new" / "repo")
    monkeypatch.setattr(_core, "compile_tokenizer_json", None)
    ours = crayon_hf.AutoTokenizer.from_pretrained(tmp_path / "new" / "repo")
    assert ours.backend_tokenizer.engine_report()["cartridge"] == paths[2]
    for text in TEXTS:
        assert raw.encode(text).ids == stock(text).input_ids == ours(text).input_ids
        assert stock.decode(raw.encode(text).ids) == ours.decode(raw.encode(text).ids)
        assert dict(stock(text, text)) == dict(ours(text, text))
    cartridge = Tokenizer.from_file(paths[2])
    assert cartridge.to_str(pretty=True).encode() == Path(paths[0]).read_bytes()
    assert json.loads(cartridge._engine.metadata)["reference"] == converted.reference


def test_tiktoken_encodings(encoding, sources, tmp_path, monkeypatch):
    """A tiktoken encoding converts as an object, as a rank file with pattern and special tokens, and by the name that a
    plugin gives it."""
    expected = convert(encoding)
    assert (expected.reference, expected.name) == ("tiktoken", "mine")
    stock = tokenizers.Tokenizer.from_str(expected.tokenizer_json.decode())
    for text in TEXTS:
        assert stock.encode(text).ids == encoding.encode(text, allowed_special="all")
    assert convert(sources["tiktoken"], **OPTIONS["tiktoken"]).tokenizer_json == expected.tokenizer_json
    monkeypatch.setattr(tiktoken, "get_encoding", {"mine": encoding}.__getitem__)
    monkeypatch.setattr(tiktoken, "list_encoding_names", lambda: ["mine"])
    monkeypatch.chdir(tmp_path)
    assert convert("mine").tokenizer_json == expected.tokenizer_json
    shutil.copy(sources["bert"], "mine")  # a file with this name has precedence
    assert convert("mine").reference == "tokenizers"


def test_errors(sources, encoding, tmp_path):
    shutil.copy(sources["cartridge"], tmp_path / "alone.dat")
    refused: list[tuple[Any, dict[str, str], type[Exception], str]] = [
        (5, {}, TypeError, "expected a path"),
        ("no_such_encoding", {}, FileNotFoundError, "no_such_encoding"),
        (sources["tiktoken"], {}, VocabularyError, "pattern="),
        (encoding, {"pattern": "x"}, VocabularyError, "pattern"),
        (tmp_path / "alone.dat", {}, SourceMissingError, "alone"),
        *(
            (sources[kind], {"pattern": "x", "name": "y"}, VocabularyError, "rank files")
            for kind in ("tokenizer.json", "huggingface", "slow", "bert", "crayon", "cartridge")
        ),
    ]
    for source, options, error, message in refused:
        with pytest.raises(error, match=message):
            convert(source, **options)


# -- existing files in a directory


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_all_or_nothing(sources, tmp_path, monkeypatch):
    """If writing fails at any file, no new directory exists, and an old one is unchanged."""
    old, new = tmp_path / "old", tmp_path / "new"
    write(convert(sources["huggingface"]), old)
    before = contents(old)
    good = convert(sources["bert"])
    document = json.loads(good.tokenizer_json)
    odd = {**document, "model": {**document["model"], "vocab": {"[UNK]": 0, "a": 2_000_000_000}}}
    for data, error in ((json.dumps(odd).encode(), UnsupportedError), (b'{"model": {}}', VocabularyError)):
        for folder in (old, new):
            with pytest.raises(error):
                write(good._replace(tokenizer_json=data), folder)
    (old / "tokenizer_config.json").write_text("{")
    with pytest.raises(VocabularyError, match="tokenizer_config"):
        write(good, old)
    assert (old / "tokenizer_config.json").read_text() == "{"
    (old / "tokenizer_config.json").write_bytes(before["tokenizer_config.json"])
    real = repository.write_atomic  # type: ignore[attr-defined]

    def fails_late(path: str, data: bytes) -> None:
        if path.endswith(".dat"):
            raise OSError("the disk is full")
        real(path, data)

    monkeypatch.setattr(repository, "write_atomic", fails_late)
    for folder in (old, new):
        with pytest.raises(OSError, match="full"):
            write(good, folder)
    assert contents(old) == before
    assert not new.exists()


# -- opening any source


def same_ids(tokenizer: Tokenizer, converted: Converted) -> None:
    stock = tokenizers.Tokenizer.from_str(converted.tokenizer_json.decode())
    for text in TEXTS:
        assert tokenizer.encode(text).ids == stock.encode(text).ids


@pytest.mark.parametrize("kind", ["tokenizer.json", "huggingface", "slow", "merges", "bert", "cartridge", "crayon"])
def test_from_file(kind, sources):
    same_ids(Tokenizer.from_file(sources[kind]), convert(sources[kind]))


def test_converted_once(sources, tmp_path, monkeypatch):
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    shutil.copytree(sources["slow"].parent, tmp_path / "slow")
    path = tmp_path / "slow" / "vocab.json"

    def made() -> set[str]:
        return {file.name for file in (tmp_path / "cache").glob("*.dat")}

    first = Tokenizer.from_file(path)
    assert len(made()) == 1
    with monkeypatch.context() as patch:
        patch.setattr(_core, "compile_tokenizer_json", None)
        for again in (path, tmp_path / "slow", tmp_path / "slow" / "merges.txt"):
            assert Tokenizer.from_file(again).encode(TEXTS[0]).ids == first.encode(TEXTS[0]).ids
    assert len(made()) == 1
    # Files beside it matter, too.
    (tmp_path / "slow" / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
    assert Tokenizer.from_file(path).encode("a").ids == first.encode(" a").ids != first.encode("a").ids
    assert len(made()) == 2
    (tmp_path / "slow" / "merges.txt").write_text("")
    assert len(Tokenizer.from_file(path).encode("the the").ids) == 8
    assert len(made()) == 3
    # The tokenizer.json in the cache can be made again.
    for file in (tmp_path / "cache").glob("*.json"):
        file.unlink()
    assert json.loads(Tokenizer.from_file(path).to_str())["model"]["merges"] == []


def test_gguf(sources, tmp_path, monkeypatch):
    """A GGUF file may be too large to hash. So its size and times identify it in the cache, once its last change is
    long enough ago."""
    path = shutil.copy(sources["gguf"], tmp_path / "x.gguf")
    converted = convert(path)
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    tokenizer = Tokenizer.from_file(path)
    same_ids(tokenizer, converted)
    assert tokenizer.engine_report()["cartridge"] is None
    assert not list(tmp_path.glob("cache/*.dat"))
    monkeypatch.setattr(cache, "SETTLED_NS", 0)  # as if seconds had passed
    assert Tokenizer.from_file(path).engine_report()["cartridge"] is not None
    monkeypatch.setattr(_core, "compile_tokenizer_json", None)
    same_ids(Tokenizer.from_file(path), converted)


def test_errors_name_the_file(tmp_path):
    (tmp_path / "v.dat").write_bytes(b"CRAY\x02\0\0\0\xff\xff\xff\xff")
    with pytest.raises(CartridgeError, match=r"v\.dat"):
        Tokenizer.from_file(tmp_path / "v.dat")
    (tmp_path / "vocab.json").write_text('{"a": 0}')
    (tmp_path / "merges.txt").write_text("a b\n")
    with pytest.raises(VocabularyError, match=r"vocab\.json: merges\.txt"):
        Tokenizer.from_file(tmp_path / "merges.txt")
