"""`distribute` packs a tokenizer for other machines, where it arrives unchanged. In these tests another machine is a
process with its own cache directory."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Reference
from tokenizers.processors import TemplateProcessing

from crayon_hf import DelegatedWarning, Tokenizer
from crayon_hf.corpora import distribute

TEXTS = ["Some text, 123.", "", "<|endoftext|> 漢字 🙂\0", "a" * 200]


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribute, "_opened", {})


def never() -> distribute.Parcel:
    raise AssertionError("the parcel is not needed")


def same(one: Tokenizer, other: Tokenizer) -> None:
    for text in TEXTS:
        assert one.encode(text).ids == other.encode(text).ids
    assert one.truncation == other.truncation
    assert one.mode == other.mode


def test_where_the_cartridge_is_nothing_is_fetched(gpt2_like: Path) -> None:
    tokenizer = Tokenizer.from_file(gpt2_like)
    label, parcel = distribute.pack(tokenizer)
    assert len(pickle.dumps(label)) < 2000 < len(parcel.cartridge)
    same(distribute.unpack(label, never), tokenizer)
    assert distribute.unpack(label, never) is distribute.unpack(pickle.loads(pickle.dumps(label)), never)


def test_elsewhere(gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tokenizer that was changed after opening arrives, too, even if its source files are deleted."""
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "here"))
    plain, greedy = Tokenizer.from_file(gpt2_like), Tokenizer.from_file(gpt2_like, mode="greedy")
    changed = Tokenizer.from_file(gpt2_like)
    changed.add_tokens(["text"])
    changed.post_processor = TemplateProcessing(single="$A <E>", pair=None, special_tokens=[("<E>", 0)])
    changed.enable_truncation(9)
    as_text = Tokenizer.from_file(gpt2_like)
    as_text.encode_special_tokens = True
    plain.save(tmp_path / "alone.dat")
    alone = Tokenizer.from_file(tmp_path / "alone.dat")
    (tmp_path / "alone.json").unlink()  # the cartridge is enough
    tokenizers = [plain, greedy, changed, as_text, alone]
    sent = [distribute.pack(tokenizer) for tokenizer in tokenizers]
    assert len({label.key for label, _ in sent}) == len(sent)
    (tmp_path / "here").rename(tmp_path / "gone")
    (tmp_path / "alone.dat").rename(tmp_path / "gone.dat")

    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "there"))
    for tokenizer, (label, parcel) in zip(tokenizers, sent, strict=True):
        arrived = distribute.unpack(pickle.loads(pickle.dumps(label)), lambda parcel=parcel: parcel)
        same(arrived, tokenizer)
        assert (arrived.engine_report()["cartridge"] or "").startswith(str(tmp_path / "there")) or tokenizer is changed
    files = sorted(path.name for path in (tmp_path / "there" / "shipped").iterdir())
    assert len([name for name in files if name.endswith(".dat")]) == 1  # all are views of one cartridge
    assert not [name for name in files if name.endswith(".tmp")]


def test_two_processes_fetch_the_parcel_at_once(
    gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first file stays, and both map it."""
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "here"))
    label, parcel = distribute.pack(Tokenizer.from_file(gpt2_like))
    (tmp_path / "here").rename(tmp_path / "gone")
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "there"))
    kept = tmp_path / "there" / "shipped" / f"{label.parcel}.dat"
    first: list[int] = []

    def while_another_fetches() -> distribute.Parcel:
        other = distribute.unpack(label._replace(key="another process"), lambda: parcel)
        assert other.engine_report()["cartridge"] == str(kept)
        first.append(kept.stat().st_ino)
        return parcel

    arrived = distribute.unpack(label, while_another_fetches)
    assert arrived.engine_report()["cartridge"] == str(kept)
    assert [kept.stat().st_ino] == first
    distribute.unpack(label._replace(key="a later process"), never)
    assert [path.suffix for path in (tmp_path / "there" / "shipped").iterdir()].count(".dat") == 1


def test_a_delegated_tokenizer_needs_no_parcel(gpt2_like: Path) -> None:
    reference = Reference.from_file(str(gpt2_like))
    with pytest.warns(DelegatedWarning):
        tokenizer = Tokenizer.from_str(far_away(reference))
    label, parcel = distribute.pack(tokenizer)
    assert parcel == (b"", None)
    arrived = distribute.unpack(pickle.loads(pickle.dumps(label)), never)
    assert arrived.engine == "delegated"
    same(arrived, tokenizer)


def far_away(reference: Reference) -> str:
    """A tokenizer.json that the engine does not support, because almost all of its ids are unused."""
    import json

    document = json.loads(reference.to_str())
    document["model"]["vocab"]["far"] = 1 << 24
    return json.dumps(document)


def test_a_changed_tokenizer_can_be_written(gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tokenizer that was changed arrives with its tokenizer.json, even if the cache directory cannot be created."""
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "here"))
    from_file, in_memory = Tokenizer.from_file(gpt2_like), Tokenizer.from_str(gpt2_like.read_text(encoding="utf-8"))
    (tmp_path / "file").touch()
    for cache in (tmp_path / "here", tmp_path / "file" / "below"):
        for tokenizer in (from_file, in_memory):
            monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "here"))
            tokenizer.add_tokens([f"<{len(distribute._opened)}>"])
            label, parcel = distribute.pack(tokenizer)
            assert not distribute.is_here(label)
            monkeypatch.setenv("CRAYON_CACHE_DIR", str(cache))
            arrived = distribute.unpack(pickle.loads(pickle.dumps(label)), lambda parcel=parcel: parcel)
            same(arrived, tokenizer)
            assert arrived.to_str() == tokenizer.to_str()
            assert pickle.loads(pickle.dumps(arrived)).to_str() == tokenizer.to_str()
            assert distribute.pack(arrived)[1].source == parcel.source
