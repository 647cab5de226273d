"""Profiles by name, in the order of the search path."""

from __future__ import annotations

import contextlib
import os

import pytest

from crayon_hf import CartridgeError, ProfileNotFoundError, Tokenizer
from crayon_hf.cartridges.search_path import find_profile, search_path


@pytest.fixture
def places(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    monkeypatch.setenv("CRAYON_PROFILE_DIR", os.pathsep.join([str(first), "", str(second)]))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return first, second


def test_order(places, tmp_path):
    path = search_path()
    assert path[:2] == list(places)
    assert path[2].name == "profiles"
    assert path[2].parent.name == "crayon_hf"
    if os.name != "nt":
        assert path[3] == tmp_path / "home" / ".cache" / "xerv" / "crayon" / "profiles"
    assert str(path[4]) in ("/var/cache/crayon", "\\var\\cache\\crayon")


def test_without_an_override(monkeypatch):
    monkeypatch.delenv("CRAYON_PROFILE_DIR", raising=False)
    assert len(search_path()) == 3


def test_first_directory_wins(places, gpt2_like, llama3_like):
    first, second = places
    (second / "mine.json").write_bytes(llama3_like.read_bytes())
    assert Tokenizer.from_profile("mine").token_to_id("<|begin_of_text|>") is not None
    (first / "mine.json").write_bytes(gpt2_like.read_bytes())
    assert Tokenizer.from_profile("mine").token_to_id("<|begin_of_text|>") is None


def test_override_wins_over_the_packaged_profile(places, gpt2_like):
    (places[1] / "lite.json").write_bytes(gpt2_like.read_bytes())
    assert Tokenizer.from_profile("lite").get_vocab_size() == 2000


def test_profile_in_the_home_directory(places, tmp_path, gpt2_like):
    if os.name == "nt":
        pytest.skip("HOME")
    directory = tmp_path / "home" / ".cache" / "xerv" / "crayon" / "profiles"
    directory.mkdir(parents=True)
    (directory / "homely.json").write_bytes(gpt2_like.read_bytes())
    assert Tokenizer.from_profile("homely").get_vocab_size() == 2000


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
    Tokenizer.from_file(gpt2_like).save(places[0] / "mine.dat")
    data = (places[0] / "mine.dat").read_bytes()
    (places[0] / "mine.dat").write_bytes(damage(data))
    assert Tokenizer.from_profile("mine").get_vocab_size() == 2000
    (places[0] / "mine.json").unlink()
    with pytest.raises(CartridgeError):
        Tokenizer.from_profile("mine")


def test_damaged_version_2_is_not_replaced_by_what_is_beside_it(places):
    (places[0] / "old.dat").write_bytes(b"CRAY\x02\0\0\0\0\0\0\0")
    (places[0] / "old.json").write_text('["a", "b"]')
    with pytest.raises(CartridgeError, match=r"old\.dat.*no root"):
        Tokenizer.from_profile("old")


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


def test_directory_is_no_profile(places):
    (places[0] / "mine.json").mkdir()
    with pytest.raises(ProfileNotFoundError):
        find_profile("mine")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a\nb", r"'a\\nb' is not a profile name: it has a control character"),
        ("a\tb", r"'a\\tb' is not a profile name: it has a control character"),
        ("a\x1b[2J", r"'a\\x1b\[2J' is not a profile name: it has a control character"),
        ("a\x7f", r"'a\\x7f' is not a profile name: it has a control character"),
        ("a\x85b", r"'a\\x85b' is not a profile name: it has a control character"),
        (" a", "' a' is not a profile name: it begins or ends with a space"),
        ("a ", "'a ' is not a profile name: it begins or ends with a space"),
        ("a\u3000", "is not a profile name: it begins or ends with a space"),
        ("n" * 196, r"'n{60}'\.\.\. is not a profile name: it has more than 200 bytes of UTF-8 with its suffix"),
        ("ä" * 98, r"'ä{60}'\.\.\. is not a profile name: it has more than 200 bytes of UTF-8 with its suffix"),
    ],
    ids=["newline", "tab", "escape", "delete", "c1", "before", "after", "wide-space", "long", "long-in-bytes"],
)
def test_names_that_cannot_be_told(places, gpt2_like, name, why):
    with contextlib.suppress(OSError):  # too long for the file system, or with what it cannot have
        (places[0] / f"{name}.json").write_bytes(gpt2_like.read_bytes())
    with pytest.raises(ValueError, match=why):
        Tokenizer.from_profile(name)


@pytest.mark.parametrize("name", ["n" * 195, "ä" * 97, "my model", "模型", "a.b-c_d"], ids=[*"abcde"])
def test_names_that_are_long_or_rare(places, gpt2_like, name):
    (places[0] / f"{name}.json").write_bytes(gpt2_like.read_bytes())
    assert Tokenizer.from_profile(name).get_vocab_size() == 2000


@pytest.mark.parametrize("name", ["", "a/b", "../x", "..", "a..b", "/etc/passwd", "a\\b", ".x", "a\0b"])
def test_names_that_are_paths_are_refused(name):
    with pytest.raises(ValueError, match="is not a profile name"):
        Tokenizer.from_profile(name)
    with pytest.raises(TypeError):
        Tokenizer.from_profile(b"lite")
