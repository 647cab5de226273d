"""Any source to a directory: stock transformers opens it, and ours opens its cartridge; once converted, only mapped."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tokenizers

import crayon_hf
from crayon_hf import CartridgeError, SourceMissingError, Tokenizer, UnsupportedError, VocabularyError, _core
from crayon_hf.cartridges import cache
from crayon_hf.formats import convert, repository, write
from crayon_hf.formats import tiktoken as ranks
from crayon_hf.formats.converted import Converted
from crayon_hf.util.byte_level import BYTE_LEVEL, spell
from tests.support.versions import before_1

TEXTS = ["Hello, wörld! It's 2024.\n\n  日本 🙂", "a<|end|>b <|endoftext|>", "", " x" * 50]
SPECIALS = {"<|end|>": 3000, "<|endoftext|>": 3001}


@pytest.fixture(scope="module")
def encoding(gpt2_like) -> tiktoken.Encoding:
    back = {chr(char): byte for byte, char in BYTE_LEVEL.items()}
    model = json.loads(gpt2_like.read_bytes())["model"]
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [bytes(back[char] for char in "".join(pair)) for pair in model["merges"]]
    return tiktoken.Encoding(
        "mine",
        pat_str=ranks.R50K_PATTERN,
        mergeable_ranks={token: rank for rank, token in enumerate(dict.fromkeys(tokens))},
        special_tokens=SPECIALS,
    )


@pytest.fixture(scope="module")
def sources(tmp_path_factory, gpt2_like, wordpiece_like, encoding) -> dict[str, Path]:
    """One of each kind that this package's own tests can make."""
    home = tmp_path_factory.mktemp("sources")
    model = json.loads(gpt2_like.read_bytes())["model"]
    (home / "hub").mkdir()
    (home / "hub" / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    (home / "slow").mkdir()
    (home / "slow" / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (home / "slow" / "merges.txt").write_text("\n".join(map(" ".join, model["merges"])), encoding="utf-8")
    vocab = json.loads(wordpiece_like.read_bytes())["model"]["vocab"]
    (home / "bert").write_text("\n".join([*sorted(vocab, key=vocab.__getitem__), "[PAD]", "[MASK]"]), encoding="utf-8")
    (home / "ranks").write_bytes(ranks.write_ranks(encoding._mergeable_ranks))
    keys = {token: rank for token, rank in encoding._mergeable_ranks.items() if rank != 200}
    (home / "crayon.bin").write_bytes(_core.write_cartridge_v2(*_core.build_double_array(sorted(keys.items()))))
    Tokenizer.from_file(gpt2_like).save(home / "ours.dat")
    return {
        **{"tokenizer.json": gpt2_like, "directory": home / "hub", "slow": home / "slow" / "vocab.json"},
        **{"merges": home / "slow" / "merges.txt", "bert": home / "bert", "crayon": home / "crayon.bin"},
        **{"cartridge": home / "ours.dat", "ranks": home / "ranks"},
    }


OPTIONS: dict[str, dict[str, Any]] = {"ranks": {"pattern": ranks.R50K_PATTERN, "special_tokens": SPECIALS}}
NATIVE = ["tokenizer.json", "directory", "slow", "merges", "bert", "cartridge", "ranks"]


@pytest.fixture(params=NATIVE)
def converted(request, sources) -> Converted:
    return convert(sources[request.param], **OPTIONS.get(request.param, {}))


def test_directory(converted, tmp_path, monkeypatch):
    """The same ids: of the tokenizer.json itself, of stock transformers, and of ours, which compiles nothing."""
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


def test_metadata(encoding, sources, tmp_path):
    write(convert(encoding), tmp_path)
    metadata = json.loads(Tokenizer.from_file(tmp_path / "tokenizer.dat")._engine.metadata)
    assert metadata == {"reference": "tiktoken", "name": "mine"}
    again = convert(tmp_path / "tokenizer.dat")
    assert (again.reference, again.name) == ("tiktoken", "mine")
    assert again.tokenizer_json == (tmp_path / "tokenizer.json").read_bytes()
    crayon = convert(sources["crayon"])
    count = crayon.metadata["tokens"]
    assert repository.metadata_of(crayon) == f'{{"reference":"xerv-crayon","tokens":{count}}}'


def test_without_a_cartridge(sources, tmp_path):
    write(convert(sources["directory"]), tmp_path)
    assert (tmp_path / "tokenizer.dat").exists()
    write(convert(sources["bert"]), tmp_path, cartridge=False)  # a cartridge of another vocabulary is worth nothing
    assert sorted(os.listdir(tmp_path)) == ["tokenizer.json", "tokenizer_config.json"]


def test_tiktoken_encodings(encoding, sources, tmp_path, monkeypatch):
    """As an object, as a rank file with what that does not say, and by the name that a plugin gives it."""
    expected = convert(encoding)
    assert (expected.reference, expected.name) == ("tiktoken", "mine")
    stock = tokenizers.Tokenizer.from_str(expected.tokenizer_json.decode())
    for text in TEXTS:
        assert stock.encode(text).ids == encoding.encode(text, allowed_special="all")
    assert convert(sources["ranks"], **OPTIONS["ranks"]).tokenizer_json == expected.tokenizer_json
    monkeypatch.setattr(tiktoken, "get_encoding", {"mine": encoding}.__getitem__)
    monkeypatch.setattr(tiktoken, "list_encoding_names", lambda: ["mine"])
    monkeypatch.chdir(tmp_path)
    assert convert("mine").tokenizer_json == expected.tokenizer_json
    shutil.copy(sources["bert"], "mine")  # a file of that name is that file
    assert convert("mine").reference == "tokenizers"


def test_published_encoding_by_name(shared, tmp_path, monkeypatch):
    path = shared / "vocab" / "r50k_base" / "r50k_base.tiktoken"
    shutil.copy(path, tmp_path / ranks.KNOWN_FILES["r50k_base"].cache_name)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert convert("gpt2").tokenizer_json == convert(path).tokenizer_json
    assert convert("gpt2").name == "gpt2"
    assert convert("r50k_base").config == {"eos_token": "<|endoftext|>"}


@pytest.mark.parametrize("source", [5, None, b"x", object()])
def test_what_is_no_source(source):
    with pytest.raises(TypeError, match="expected a path, the name of an encoding or a tiktoken"):
        convert(source)


def test_errors(sources, encoding, tmp_path):
    with pytest.raises(FileNotFoundError):
        convert(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        convert("no_such_encoding")
    with pytest.raises(VocabularyError, match=r"pattern=.*name="):
        convert(sources["ranks"])
    with pytest.raises(VocabularyError, match="pattern cannot be given with"):
        convert(encoding, pattern="x")
    for kind in ("tokenizer.json", "directory", "slow", "bert", "crayon", "cartridge"):
        with pytest.raises(VocabularyError, match="pattern, name is for tiktoken rank files"):
            convert(sources[kind], pattern="x", name="y")
    shutil.copy(sources["cartridge"], tmp_path / "alone.dat")
    with pytest.raises(SourceMissingError):
        convert(tmp_path / "alone.dat")


# -- what is in a directory already


def test_settings_that_are_there_stay(sources, tmp_path):
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "GPT2Tokenizer", "model_max_length": 77, "clean_up_tokenization_spaces": True})
    )
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    write(convert(sources["bert"]), tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert config["tokenizer_class"] == "BertTokenizer"
    assert config["model_max_length"] == 77
    assert config["clean_up_tokenization_spaces"] is True
    assert (tmp_path / "model.safetensors").read_bytes() == b"weights"


def test_settings_of_the_source_are_carried(encoding, tmp_path):
    """Whatever file has the vocabulary, the template and the length of the model stay what they are."""
    (tmp_path / "x.model").write_bytes(ranks.write_ranks(encoding._mergeable_ranks))
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": "{{ x }}", "model_max_length": 9, "tokenizer_class": "OddTokenizer"})
    )
    converted = convert(tmp_path, **OPTIONS["ranks"])
    assert converted.config == {"chat_template": "{{ x }}", "model_max_length": 9, "eos_token": "<|endoftext|>"}


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_all_or_nothing(sources, tmp_path, monkeypatch):
    """Whatever fails, no new directory stays, and what was in an old one is as it was."""
    old, new = tmp_path / "old", tmp_path / "new"
    write(convert(sources["directory"]), old)
    before = contents(old)
    good = convert(sources["bert"])
    document = json.loads(good.tokenizer_json)
    odd = {**document, "model": {**document["model"], "vocab": {"[UNK]": 0, "a": 2_000_000_000}}}
    failures: list[tuple[Converted, type[Exception]]] = [
        (good._replace(tokenizer_json=json.dumps(odd).encode()), UnsupportedError),
        (good._replace(tokenizer_json=b"{"), VocabularyError),
        (good._replace(tokenizer_json=b'{"model": {}}'), VocabularyError),
        (
            good._replace(tokenizer_json=b'{"model": {"type": "BPE", "vocab": {"a": "x"}, "merges": [5]}}'),
            VocabularyError,
        ),
    ]
    for converted, error in failures:
        for folder in (old, new):
            with pytest.raises(error):
                write(converted, folder)
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


def test_damaged_config_is_not_overwritten(sources, tmp_path):
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(VocabularyError, match="tokenizer_config"):
        write(convert(sources["bert"]), tmp_path)
    assert contents(tmp_path) == {"tokenizer_config.json": b"{"}


# -- opening any source


def same_ids(tokenizer: Tokenizer, converted: Converted) -> None:
    stock = tokenizers.Tokenizer.from_str(converted.tokenizer_json.decode())
    for text in TEXTS:
        assert tokenizer.encode(text).ids == stock.encode(text).ids


@pytest.mark.parametrize("kind", [kind for kind in NATIVE if kind != "ranks"])
def test_from_file(kind, sources):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tokenizer = Tokenizer.from_file(sources[kind])
    assert tokenizer.engine == "native"
    same_ids(tokenizer, convert(sources[kind]))
    assert tokenizers.Tokenizer.from_str(tokenizer.to_str())


def test_from_file_crayon(sources):
    tokenizer = Tokenizer.from_file(sources["crayon"])
    assert tokenizer.engine_report()["reference"] == "xerv-crayon"
    same_ids(tokenizer, convert(sources["crayon"]))


def test_from_file_of_published_ranks(shared):
    path = shared / "vocab" / "r50k_base" / "r50k_base.tiktoken"
    tokenizer = Tokenizer.from_file(path)
    assert tokenizer.engine_report()["reference"] == "tiktoken"
    assert tokenizer.encode(TEXTS[0]).ids == Tokenizer.from_tiktoken(path).encode(TEXTS[0]).ids


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
    # A file beside it decides, too.
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


def test_sentencepiece_model(shared, tmp_path, monkeypatch):
    pytest.importorskip("crayon_hf.formats.sentencepiece")
    said: list[tuple[str, int, int]] = []
    converted = convert(shared / "vocab" / "mistral-v1", progress=lambda *what: said.append(what))
    assert converted.reference == "sentencepiece"
    assert said
    assert all(0 <= done <= total for _, done, total in said)
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path))
    same_ids(Tokenizer.from_file(shared / "vocab" / "mistral-v1"), converted)
    monkeypatch.setattr(_core, "compile_tokenizer_json", None)
    same_ids(Tokenizer.from_file(shared / "vocab" / "mistral-v1" / "tokenizer.model"), converted)


def test_gguf(gpt2_like, tmp_path, monkeypatch):
    """Such a file may be too large to be hashed: its stat stands for it, but not while it may change unseen."""
    pytest.importorskip("crayon_hf.formats.gguf")
    gguf = pytest.importorskip("gguf")
    model = json.loads(gpt2_like.read_bytes())["model"]
    path = tmp_path / "x.gguf"
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(sorted(model["vocab"], key=model["vocab"].__getitem__))
    writer.add_token_types([3] + [1] * (len(model["vocab"]) - 1))
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    converted = convert(path)
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    tokenizer = Tokenizer.from_file(path)
    same_ids(tokenizer, converted)
    assert tokenizer.engine_report()["cartridge"] is None
    assert not list(tmp_path.glob("cache/*.dat"))
    monkeypatch.setattr(cache, "SETTLED_NS", 0)  # as if some seconds had gone by
    assert Tokenizer.from_file(path).engine_report()["cartridge"] is not None
    monkeypatch.setattr(_core, "compile_tokenizer_json", None)
    same_ids(Tokenizer.from_file(path), converted)


def test_what_the_engine_does_not_compile_is_delegated(tmp_path):
    vocab = {"<|endoftext|>": 0, **{spell(bytes([byte])): byte + 1 for byte in range(256)}, "far": 3_000_000}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    with pytest.warns(crayon_hf.DelegatedWarning):
        tokenizer = Tokenizer.from_file(tmp_path)
    assert tokenizer.engine == "delegated"
    same_ids(tokenizer, convert(tmp_path))


def test_errors_name_the_file(tmp_path):
    (tmp_path / "v.dat").write_bytes(b"CRAY\x02\0\0\0\xff\xff\xff\xff")
    with pytest.raises(CartridgeError, match=r"v\.dat: "):
        Tokenizer.from_file(tmp_path / "v.dat")
    (tmp_path / "vocab.json").write_text('{"a": 0}')
    (tmp_path / "merges.txt").write_text("a b\n")
    with pytest.raises(VocabularyError, match=r"vocab\.json: merges\.txt merges 'a' and 'b'"):
        Tokenizer.from_file(tmp_path / "merges.txt")
    (tmp_path / "config.json").write_text('{"model_type": "whisper"}')
    (tmp_path / "merges.txt").write_text("a a\n")
    (tmp_path / "vocab.json").write_text('{"a": 0, "aa": 1}')
    with pytest.raises(UnsupportedError, match=r"vocab\.json: a tokenizer of whisper"):
        Tokenizer.from_file(tmp_path)


@before_1("class that reads vocab.json or vocab.txt")
def test_no_transformers_is_needed(sources, tmp_path):
    program = (
        "import sys; sys.modules['transformers'] = sys.modules['tiktoken'] = None\n"
        "from crayon_hf.formats import convert, write\n"
        f"for source in {[str(sources[kind]) for kind in ('directory', 'slow', 'bert', 'crayon')]!r}:\n"
        f"    write(convert(source), {str(tmp_path)!r}, cartridge=False)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
