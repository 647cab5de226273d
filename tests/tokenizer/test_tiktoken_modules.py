"""The modules of `crayon_hf.tiktoken` compared with tiktoken's: rank files, names of encodings, plugins, and private
functions."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import tiktoken as theirs
import tiktoken.load
import tiktoken.model
import tiktoken.registry

from crayon_hf import tiktoken as ours
from crayon_hf.tiktoken import load
from tests.support.child import child, said_by
from tests.tokenizer.test_tiktoken_face import outcome

PARTS: dict[str, Any] = {
    "pat_str": r"\p{L}+|\p{N}{1,3}|[^\p{L}\p{N}]+",
    "mergeable_ranks": {**{bytes([b]): b for b in range(256)}, b"ab": 256, b"abab": 257, b"\xc3\xa9": 258, b"  ": 259},
    "special_tokens": {"<|end|>": 300},
}


@pytest.mark.parametrize("name", ["core", "load", "model", "registry", "_educational"])
def test_every_public_name_is_there(name: str) -> None:
    their = import_module(f"tiktoken.{name}")
    our = import_module(f"crayon_hf.tiktoken.{name}")
    for public, value in vars(their).items():
        if getattr(value, "__module__", None) == their.__name__ and not public.startswith("_"):
            assert callable(getattr(our, public)), public
    assert {name for name in dir(theirs) if not name.startswith("_")} - {"_tiktoken"} <= {*dir(ours), "load"}
    assert ours.__version__ == theirs.__version__


# -- files


@pytest.fixture(params=[True, False], ids=["cache", "no cache"])
def cached(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(directory) if request.param else "")
    return directory


@pytest.mark.parametrize(
    "content",
    [
        b"YQ== 0\nYg== 1\n\nYWI= 2",
        b"",
        b"YQ== 0\r\nYQ== 5\n",
        b"YQ==0\n",
        b"YQ== x\n",
        b"Y 0\n",
        b"YQ== 0 0\n",
        b"= 1\n",
    ],
)
def test_rank_files(cached: Path, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ranks"
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    for arguments in ((str(path),), (str(path), digest), (str(path), "0" * 64)):
        said = [outcome(module.load_tiktoken_bpe, *arguments) for module in (load, tiktoken.load)]
        assert said[0] == said[1]
        assert outcome(load.read_file_cached, *arguments) == outcome(tiktoken.load.read_file_cached, *arguments)
    assert outcome(load.read_file, str(tmp_path / "none")) is FileNotFoundError


def test_the_cache_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "ranks"
    path.write_bytes(b"YQ== 0\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert load.read_file_cached(str(path), digest) == b"YQ== 0\n"
    (entry,) = (tmp_path / "cache").iterdir()
    path.unlink()
    assert tiktoken.load.read_file_cached(str(path), digest) == load.read_file_cached(str(path)) == b"YQ== 0\n"
    path.write_bytes(b"YQ== 0\n")
    entry.write_bytes(b"damaged")
    assert load.read_file_cached(str(path), digest) == b"YQ== 0\n"
    assert entry.read_bytes() == b"YQ== 0\n"
    victim = tmp_path / "victim"
    victim.write_bytes(b"of somebody else")
    entry.unlink()
    entry.symlink_to(victim)
    assert load.read_file_cached(str(path), digest) == b"YQ== 0\n"
    assert victim.read_bytes() == b"of somebody else"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(path / "below a file"))
    assert outcome(load.read_file_cached, str(path)) is outcome(tiktoken.load.read_file_cached, str(path))


def test_a_rank_file_that_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    path = str(tmp_path / "ranks")
    load.dump_tiktoken_bpe(PARTS["mergeable_ranks"], path)
    assert tiktoken.load.load_tiktoken_bpe(path) == PARTS["mergeable_ranks"]
    assert load.check_hash(Path(path).read_bytes(), hashlib.sha256(Path(path).read_bytes()).hexdigest())


# -- names

PLUGIN = """
import sys
from {name} import Encoding, get_encoding, list_encoding_names, registry

assert "mine" in list_encoding_names()
assert sorted(registry._available_plugin_modules()) == ["tiktoken_ext.my_plugin", "tiktoken_ext.openai_public"]
encoding = get_encoding("mine")
assert get_encoding("mine") is encoding is registry.ENCODINGS["mine"] and isinstance(encoding, Encoding)
assert registry.ENCODING_CONSTRUCTORS["mine"]()["name"] == "mine"
print(encoding.encode("abab é<|end|>", allowed_special="all"))
import pickle
assert pickle.loads(pickle.dumps(encoding)).encode("ab") == encoding.encode("ab") and len(pickle.dumps(encoding)) < 200
"""


def test_a_plugin(tmp_path: Path) -> None:
    (tmp_path / "tiktoken_ext").mkdir()
    (tmp_path / "tiktoken_ext" / "my_plugin.py").write_text(
        f"ENCODING_CONSTRUCTORS = {{'mine': lambda: dict(name='mine', **{PARTS!r})}}\n", encoding="utf-8"
    )
    programs = (PLUGIN.format(name=name) for name in ("tiktoken", "crayon_hf.tiktoken"))
    said = [said_by(program, path=tmp_path, PYTHONWARNINGS="ignore") for program in programs]
    assert said[0] == said[1] != ""


@pytest.mark.parametrize("plugin", ["", "ENCODING_CONSTRUCTORS = {'gpt2': None}"])
def test_a_broken_plugin(tmp_path: Path, plugin: str) -> None:
    (tmp_path / "tiktoken_ext").mkdir()
    (tmp_path / "tiktoken_ext" / "zz_plugin.py").write_text(plugin, encoding="utf-8")
    for name in ("tiktoken", "crayon_hf.tiktoken"):
        ran = child(f"from {name} import registry; registry.list_encoding_names()", path=tmp_path)
        said = ran.stderr.decode().strip().splitlines()[-1]
        assert said.startswith(("ValueError: Duplicate encoding name gpt2", "ValueError: tiktoken plugin")), ran.stderr
