"""The format of a source file is recognised by a small part of its contents, whatever its name. For an unknown format
the error is one clear line."""

from __future__ import annotations

import base64
import json
import os

import pytest

from crayon_hf import VocabularyError, _core
from crayon_hf.formats.recognise import Kind, look_into, recognise, vocab_and_merges

RANKS = b"".join(base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256))
VOCAB = json.dumps({chr(ord("a") + i): i for i in range(20)}).encode()
MERGES = b"#version: 0.2\na b\nb c\n"
WORDPIECE = b"[PAD]\n[UNK]\n[CLS]\nthe\n##s\n"
TEKKEN = (
    b'{"config": {"pattern": "x", "version": "v3"}, "vocab": [{"rank": 0, "token_bytes": "AA==", "token_str": null}]}'
)
PIECE = b"\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02"


def tokenizer_json(**more) -> bytes:
    return json.dumps({"version": "1.0", "truncation": None, "model": {"vocab": {}}, **more}).encode()


def version_2() -> bytes:
    return _core.write_cartridge_v2(*_core.build_double_array([(b"a", 0)]))


FILES = {
    Kind.TOKENIZER_JSON: [
        tokenizer_json(),
        b"\xef\xbb\xbf " + tokenizer_json(),
        json.dumps({"model": {"type": "BPE", "vocab": {"a": 0}}}).encode(),
        json.dumps({"version": "1.0", "decoder": {"x": ["\\", '"', "}"]}, "added_tokens": []}, indent=2).encode(),
        json.dumps({"unknown": ["y" * 9000, {"model": 1}], "normalizer": None, "model": {}}).encode(),
    ],
    Kind.TEKKEN: [TEKKEN, json.dumps({"image": {"p": "[" * 5000}, **json.loads(TEKKEN)}).encode()],
    Kind.TIKTOKEN: [RANKS, RANKS * 50, RANKS.replace(b"\n", b"\r\n"), b"IQ== 0"],
    Kind.WORDPIECE: [
        WORDPIECE,
        b"\n".join(b"word%d" % i for i in range(20000)) + b"\n[UNK]\n",
        b"a\xe2\x80\xa8b\n##x\n",
    ],
    Kind.SENTENCEPIECE: [PIECE, b"\x0a\x05\x0a\x03abc" + PIECE, PIECE + b"\x12\x00"],
    Kind.GGUF: [b"GGUF\x03\x00\x00\x00", b"GGUF" + b"\0" * 10000],
    Kind.CRAYON_V2: [version_2(), b"CRAY\x02\0\0\0"],
    Kind.CARTRIDGE: [b"CRAY\x03\0\0\0", b"CRAY\x04\0\0\0", b"CRAY"],
}


@pytest.mark.parametrize(("kind", "data"), [(kind, data) for kind in FILES for data in FILES[kind]])
@pytest.mark.parametrize("name", ["tokenizer.json", "y.gguf"])
def test_by_content(kind, data, name, tmp_path):
    path = tmp_path / name
    path.write_bytes(data)
    assert recognise(path) is recognise(str(path)) is kind


def test_vocabulary_of_two_files(tmp_path):
    (tmp_path / "a-vocab.json").write_bytes(VOCAB)
    with pytest.raises(VocabularyError, match=r"merges\.txt is not beside it"):
        recognise(tmp_path / "a-vocab.json")
    (tmp_path / "a-merges.txt").write_bytes(MERGES)
    pair = (str(tmp_path / "a-vocab.json"), str(tmp_path / "a-merges.txt"))
    assert recognise(tmp_path / "a-vocab.json") is Kind.VOCAB_JSON
    assert vocab_and_merges(pair[0], Kind.VOCAB_JSON) == pair
    assert recognise(tmp_path / "a-merges.txt") is Kind.MERGES
    assert vocab_and_merges(pair[1], Kind.MERGES) == pair
    (tmp_path / "other").write_bytes(MERGES)
    with pytest.raises(VocabularyError, match=r"vocab\.json"):
        recognise(tmp_path / "other")
    (tmp_path / "vocab.json").write_bytes(b'{"a": 0}')  # few tokens, but merges.txt is there
    (tmp_path / "merges.txt").write_bytes(b"a b\n")  # its version line is optional
    assert recognise(tmp_path / "vocab.json") is Kind.VOCAB_JSON
    assert recognise(tmp_path / "merges.txt") is Kind.MERGES


@pytest.mark.parametrize(
    ("data", "message"),
    [
        *(
            (data, "not a vocabulary of a known format")
            for data in (
                b"{",
                b'{"model": 5}',
                b'{"architectures": ["X"], "decoder": {"a": 1}, "version": "1"}',
                b'{"a": "\\',
                b"[1, 2]",
                b"# A heading\n\nSome text in which nothing is a vocabulary.\n",
                b"IQ== 0\nsome text\n",
                b"hello world\nfoo bar\n",
                b"\x0a\x0e\x0a\x50<unk>",
                b"\xfe\x00\xffa" * 100,
            )
        ),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n", "Git LFS pointer"),
        (b'["a", "b"]', "beside it"),
        (b'{"vocab": {"a": 0}}', "beside it"),
    ],
)
def test_no_source(data, message, tmp_path):
    (tmp_path / "something").write_bytes(data)
    with pytest.raises(VocabularyError, match=message):
        recognise(tmp_path / "something")


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        recognise(tmp_path / "x")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "fifo")  # opening one would wait for ever
        with pytest.raises(VocabularyError, match="not a file"):
            recognise(tmp_path / "fifo")


def test_a_large_file_is_not_read_whole(tmp_path):
    path = tmp_path / "model"
    for data, kind in ((b"GGUF", Kind.GGUF), (tokenizer_json()[:-1], Kind.TOKENIZER_JSON)):
        with open(path, "wb") as file:
            file.write(data)
            file.truncate(1 << 33)  # sparse: reading it would take minutes
        assert recognise(path) is kind


DIRECTORY = {
    "tokenizer.json": (tokenizer_json(), Kind.TOKENIZER_JSON),
    "tekken.json": (TEKKEN, Kind.TEKKEN),
    "tokenizer.model": (RANKS, Kind.TIKTOKEN),  # Llama 3's name for its ranks
    "m.model": (PIECE, Kind.SENTENCEPIECE),
    "vocab.json": (VOCAB, Kind.VOCAB_JSON),
    "vocab.txt": (WORDPIECE, Kind.WORDPIECE),
    "x.gguf": (b"GGUF\x03\0\0\0", Kind.GGUF),
    "x.tiktoken": (RANKS, Kind.TIKTOKEN),
    "x.dat": (version_2(), Kind.CRAYON_V2),
}


def test_directory(tmp_path):
    """Of several vocabulary files in a directory, the one with precedence is converted: each is found after those
    before it are removed."""
    for name, (data, _) in DIRECTORY.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "merges.txt").write_bytes(MERGES)
    (tmp_path / "config.json").write_text("{}")
    assert recognise(tmp_path) is Kind.DIRECTORY
    for name, (_, kind) in DIRECTORY.items():
        assert look_into(tmp_path) == (kind, str(tmp_path / name))
        (tmp_path / name).unlink()
    with pytest.raises(VocabularyError, match="has no vocabulary"):
        look_into(tmp_path)
    (tmp_path / "merges.txt").unlink()
    (tmp_path / "vocab.json").write_bytes(VOCAB)
    with pytest.raises(VocabularyError, match=r"merges\.txt is not beside it"):
        look_into(tmp_path)
