"""Opening profiles by name: the first directory of the search path that has the name wins."""

from __future__ import annotations

import contextlib
import os

import pytest

from crayon_hf import CartridgeError, ProfileNotFoundError, Tokenizer
from crayon_hf.cartridges.search_path import search_path


@pytest.fixture
def places(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    monkeypatch.setenv("CRAYON_PROFILE_DIR", os.pathsep.join([str(first), "", str(second)]))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return first, second


def test_order(places, tmp_path):
    path = search_path()
    assert path[:2] == list(places)
    assert path[2].name == "profiles"
    assert path[2].parent.name == "crayon_hf"
    if os.name != "nt":
        assert path[3] == tmp_path / "home" / ".cache" / "xerv" / "crayon" / "profiles"
    assert str(path[4]) in ("/var/cache/crayon", "\\var\\cache\\crayon")


def test_first_directory_wins(places, gpt2_like, llama3_like):
    first, second = places
    (second / "mine.json").write_bytes(llama3_like.read_bytes())
    assert Tokenizer.from_profile("mine").token_to_id("<|begin_of_text|>") is not None
    (first / "mine.json").write_bytes(gpt2_like.read_bytes())
    assert Tokenizer.from_profile("mine").token_to_id("<|begin_of_text|>") is None


def test_cartridge_is_used_in_place(places, gpt2_like):
    Tokenizer.from_file(gpt2_like).save(places[0] / "mine.dat")
    assert Tokenizer.from_profile("mine").engine_report()["cartridge"] == str(places[0] / "mine.dat")
    (places[0] / "mine.json").unlink()
    assert Tokenizer.from_profile("mine").engine_report()["cartridge"] == str(places[0] / "mine.dat")


def test_cartridge_of_another_json_is_not_used(places, gpt2_like, llama3_like):
    Tokenizer.from_file(gpt2_like).save(places[0] / "mine.dat")
    (places[0] / "mine.json").write_bytes(llama3_like.read_bytes())
    tokenizer = Tokenizer.from_profile("mine")
    assert tokenizer.token_to_id("<|begin_of_text|>") is not None
    assert tokenizer.engine_report()["cartridge"] != str(places[0] / "mine.dat")


@pytest.mark.parametrize("damage", [lambda data: data[:-1000], lambda data: b"not a cartridge", lambda data: b""])
def test_damaged_cartridge(places, gpt2_like, damage):
    path = places[0] / "mine.dat"
    Tokenizer.from_file(gpt2_like).save(path)
    path.write_bytes(damage(path.read_bytes()))
    assert Tokenizer.from_profile("mine").get_vocab_size() == 2000
    path.with_suffix(".json").unlink()
    with pytest.raises(CartridgeError):
        Tokenizer.from_profile("mine")


def test_not_found_lists_places_and_names(places, gpt2_like):
    (places[0] / "one.json").write_bytes(gpt2_like.read_bytes())
    (places[1] / "two.dat").write_bytes(b"")
    (places[1] / ".hidden.json").write_bytes(b"")
    (places[1] / "readme.txt").write_bytes(b"")
    with pytest.raises(ProfileNotFoundError) as caught:
        Tokenizer.from_profile("three")
    message = str(caught.value)
    assert "'three'" in message
    for directory in search_path():
        assert str(directory) in message
    assert f"{places[0]} (one)" in message
    assert f"{places[1]} (two)" in message
    assert isinstance(caught.value, FileNotFoundError)


BAD = ["a\nb", "a\tb", "a\x1b[2J", "a\x7f", "a\x85b", " a", "a ", "a\u3000", "n" * 196, "ä" * 98, "", "a/b", "../x"]
BAD += ["..", "a..b", "/etc/passwd", "a\\b", ".x", "a\0b"]


@pytest.mark.parametrize("name", BAD, ids=ascii)
def test_bad_names(places, gpt2_like, name):
    # The name may be too long for the file system, or have characters that it does not allow.
    with contextlib.suppress(OSError, ValueError):
        (places[0] / f"{name}.json").write_bytes(gpt2_like.read_bytes())
    with pytest.raises(ValueError, match="is not a profile name"):
        Tokenizer.from_profile(name)


@pytest.mark.parametrize("name", ["n" * 195, "ä" * 97, "my model", "模型", "a.b-c_d"], ids=[*"abcde"])
def test_names_that_are_long_or_rare(places, gpt2_like, name):
    (places[0] / f"{name}.json").write_bytes(gpt2_like.read_bytes())
    assert Tokenizer.from_profile(name).get_vocab_size() == 2000
