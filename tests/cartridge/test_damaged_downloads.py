"""Damaged downloads, such as a server's error page or a git-lfs pointer: every command says what the file is, and what
to do."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crayon_hf
from crayon_hf import CartridgeError, Tokenizer, VocabularyError
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
        # transformers 4 needs the name of a class in tokenizer_config.json.
        if says_nothing and (HAS_TRANSFORMERS_5 or file != "tokenizer_config.json"):
            opener.from_pretrained(tmp_path)  # an object without facts about a tokenizer is valid for these two files
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


# -- names without a file


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
