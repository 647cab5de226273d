"""The cartridge beside a tokenizer.json opens it: by the digest of the file, and after it was checked."""

from __future__ import annotations

import os
import pickle
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from crayon_hf import CartridgeError, Tokenizer, _core
from crayon_hf.cartridges import cache
from crayon_hf.cartridges.cartridge_check import disagreement, open_beside
from tests.hub.hub_tokenizers import LIES, repository, resigned, unsound, with_token

TEXT = "The quick brown <pad> fox déjà vu; it's what they've said 12345"


@pytest.fixture
def files(tmp_path: Path, gpt2_like: Path) -> tuple[str, str]:
    """The paths of a cartridge and of its tokenizer.json."""
    for name, data in repository(gpt2_like).items():
        (tmp_path / name).write_bytes(data)
    return str(tmp_path / "tokenizer.dat"), str(tmp_path / "tokenizer.json")


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A fresh cache. Compiling a tokenizer.json, and reading one as JSON, fails."""

    def refuse(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("the tokenizer.json was parsed")

    monkeypatch.setattr(_core, "compile_tokenizer_json", refuse)
    monkeypatch.setattr(_core.Engine, "mismatch", refuse)
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def replace(path: str, data: bytes) -> None:
    Path(path + ".new").write_bytes(data)
    os.replace(path + ".new", path)


@pytest.mark.parametrize("way", ["from_file", "directory", "open_beside"])
def test_it_opens_the_tokenizer_json(files: tuple[str, str], unread: Path, gpt2_like: Path, way: str) -> None:
    if way == "open_beside":
        engine, reason = open_beside(*files)
        assert reason is None
        assert engine is not None
    else:
        tokenizer = Tokenizer.from_file(files[1] if way == "from_file" else os.path.dirname(files[1]))
        report = tokenizer.engine_report()
        assert (report["origin"], report["cartridge"], report["refused"]) == ("repository", files[0], None)
        reference = tokenizers.Tokenizer.from_file(str(gpt2_like))
        assert tokenizer.encode(TEXT).ids == reference.encode(TEXT).ids
        assert tokenizer.to_str() == reference.to_str()
    assert not list(unread.glob("*.dat")), "a second copy"


def test_it_is_checked_once(files: tuple[str, str], unread: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "SETTLED_NS", 0)
    for _ in range(2):
        assert open_beside(*files)[0] is not None
    data = bytearray(Path(files[0]).read_bytes())
    data[len(data) // 2] ^= 1  # in place, with the same times
    before = os.stat(files[0])
    Path(files[0]).write_bytes(data)
    os.utime(files[0], ns=(before.st_atime_ns, before.st_mtime_ns))
    engine, reason = open_beside(*files)
    assert engine is None
    assert "checksum" in str(reason)


def test_of_another_file(files: tuple[str, str], gpt2_like: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest says so, before the cartridge is read whole."""
    replace(files[1], with_token(gpt2_like, "<new>"))
    monkeypatch.setattr(cache, "open_cartridge", None)
    engine, reason = open_beside(*files)
    assert engine is None
    assert "another tokenizer.json" in str(reason)
    monkeypatch.undo()
    assert Tokenizer.from_file(files[1]).token_to_id("<new>") is not None
    assert "another tokenizer.json" in Tokenizer.from_file(files[1]).engine_report()["refused"]


def test_what_is_not_there(files: tuple[str, str]) -> None:
    os.unlink(files[1])
    engine, reason = open_beside(*files)
    assert engine is None
    assert "there is no tokenizer.json beside it" in str(reason)
    os.unlink(files[0])
    Path(files[1]).write_bytes(b"{}")
    assert open_beside(*files) == (None, None)


def test_unsound_ones(files: tuple[str, str], gpt2_like: Path, llama3_like: Path) -> None:
    for case, (data, said) in unsound(gpt2_like.read_bytes(), llama3_like.read_bytes()).items():
        if case in LIES:
            continue
        replace(files[0], data)
        engine, reason = open_beside(*files)
        assert engine is None, case
        assert reason, case
        assert said in reason
        assert Tokenizer.from_file(files[1]).engine_report()["refused"] == reason


def test_lies(files: tuple[str, str], gpt2_like: Path, llama3_like: Path) -> None:
    """Whoever publishes both files answers for both. What compares them says where they differ."""
    source = gpt2_like.read_bytes()
    for case in LIES:
        lie = unsound(source, llama3_like.read_bytes())[case][0]
        replace(files[0], lie)
        assert open_beside(*files)[0] is not None
        assert disagreement(_core.Engine.from_bytes(lie), sha256(source).hexdigest(), source), case


def test_a_tokenizer_json_that_is_not_compiled(files: tuple[str, str]) -> None:
    cartridge = Path(files[0]).read_bytes()
    for document in (b"{}", b"[1, 2", b'{"model": {"type": "BPE", "vocab": {}, "merges": []}}'):
        engine = _core.Engine.from_bytes(resigned(cartridge, document))
        assert disagreement(engine, sha256(document).hexdigest(), document)


def test_checks_of_memory_find_what_leads_astray(files: tuple[str, str], tmp_path: Path) -> None:
    """Every index and search; not whether a table says what the merges do."""
    with pytest.raises(ValueError, match="expected True, False or"):
        _core.Engine.open(files[0], verify="all")  # type: ignore[arg-type]
    data = Path(files[0]).read_bytes()
    for verify in (True, "memory"):
        with pytest.raises(CartridgeError, match="checksum"):
            _core.Engine.from_bytes(data[:-100] + bytes(100), verify=verify)  # type: ignore[arg-type]


def test_origin(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where a cartridge is from, and that copies, pickles and changes say it, too."""
    monkeypatch.setenv("CRAYON_CACHE_DIR", str(tmp_path / "cache"))
    alone = tmp_path / "alone.json"
    alone.write_bytes(Path(files[1]).read_bytes())
    by_path, by_cache = Tokenizer.from_file(files[0]), Tokenizer.from_file(alone)
    in_memory = Tokenizer.from_buffer(Path(files[1]).read_bytes())
    for tokenizer, origin in ((by_path, "repository"), (by_cache, "cache"), (in_memory, "memory")):
        for twin in (tokenizer, tokenizer.__copy__(), pickle.loads(pickle.dumps(tokenizer))):
            report = twin.engine_report()
            expected = "cache" if twin is not tokenizer and origin == "memory" and report["cartridge"] else origin
            assert (report["origin"], report["refused"]) == (expected, None)
    assert Tokenizer.from_profile("lite").engine_report()["origin"] == "repository"
    by_path.add_tokens(["<new>"])
    assert by_path.engine_report()["origin"] == "repository"  # another view of the same cartridge
