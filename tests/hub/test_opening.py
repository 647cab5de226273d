"""Opening a repository on the Hub by its cartridge, with transformers and without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hub.hub_client import run_client
from tests.hub.hub_tokenizers import LIES, repository, unsound
from tests.hub.local_hub import LocalHub

pytest.importorskip("huggingface_hub")

CONFIG = {"tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}).encode()}

BEGIN = """
import json, sys, crayon_hf
from crayon_hf import _core
TEXT = "The quick brown fox; it's what they've said. Größe, 敏捷的 🙂"

def without_compiling(load, *arguments, **options):
    compile, _core.compile_tokenizer_json = _core.compile_tokenizer_json, None
    try:
        return load(*arguments, **options)
    finally:
        _core.compile_tokenizer_json = compile

def facts(tokenizer):
    report = tokenizer.engine_report()
    ids = tokenizer.encode(TEXT)
    return [report["origin"], report["refused"], report["cartridge"], getattr(ids, "ids", ids)]
"""


def script(hub: LocalHub, home: Path, code: str, **options: Any) -> Any:
    """What a program prints as JSON."""
    return json.loads(run_client(hub, BEGIN + code, home, check=True, **options).stdout)


def ids_of(source: Path) -> list[int]:
    import tokenizers

    text = BEGIN.split('TEXT = "')[1].split('"\n')[0]
    ids: list[int] = tokenizers.Tokenizer.from_file(str(source)).encode(text).ids
    return ids


@pytest.mark.slow
def test_auto_tokenizer(hub: LocalHub, home: Path, gpt2_like: Path, llama3_like: Path) -> None:
    files = {**repository(gpt2_like), **CONFIG}
    hub.create("user/mine", private=True)
    hub.commit("user/mine", files)
    hub.commit("user/mine", {"tokenizer.dat": None}, revision="bare")
    hub.commit("user/inner", {f"inner/{name}": data for name, data in files.items()})
    hub.commit("user/plain", repository(gpt2_like))
    source = gpt2_like.read_bytes()
    other = unsound(source, llama3_like.read_bytes())["of another"][0]
    hub.commit("user/other", {**files, "tokenizer.dat": other})
    online = script(
        hub,
        home,
        f"""
import transformers
load = crayon_hf.AutoTokenizer.from_pretrained
said = [facts(without_compiling(load, "user/mine", token={hub.token!r}))]
said.append(facts(without_compiling(load, "user/inner", subfolder="inner")))
said.append(facts(without_compiling(crayon_hf.CrayonTokenizerFast.from_pretrained, "user/plain")))
crayon_hf.install()
said.append(facts(without_compiling(transformers.AutoTokenizer.from_pretrained, "user/mine", token={hub.token!r})))
crayon_hf.uninstall()
said += [facts(load("user/mine", revision="bare", token={hub.token!r})) for _ in range(2)]
said += [facts(load("user/other")) for _ in range(2)]
stock = transformers.AutoTokenizer.from_pretrained("user/mine", token={hub.token!r})
said.append([None, None, None, stock(TEXT)["input_ids"]])
print(json.dumps(said))
""",
        token=None,
    )
    wanted = ids_of(gpt2_like)
    assert [ids == wanted for *_, ids in online] == [True] * len(online)
    *by_cartridge, bare, bare_again, other, other_again, _ = online
    for origin, refused, cartridge, _ in by_cartridge:
        assert (origin, refused) == ("repository", None)
        assert cartridge.startswith(str(home / "huggingface"))
        assert cartridge.endswith("tokenizer.dat")
    for origin, refused, cartridge, _ in (bare, bare_again):
        assert (origin, refused) == ("cache", None)
        assert cartridge.startswith(str(home / "crayon-cache"))
    for origin, refused, cartridge, _ in (other, other_again):
        assert origin == "cache"
        assert refused
        assert cartridge.startswith(str(home / "crayon-cache"))
    # That a repository has none was asked once.
    assert len(hub.asked("HEAD", "/bare/.*tokenizer.dat|" + hub.head("user/mine", "bare").sha + "/tokenizer.dat")) == 1

    asked = len(hub.requests)
    offline = script(
        hub,
        home,
        """
load = crayon_hf.AutoTokenizer.from_pretrained
print(json.dumps([
    facts(without_compiling(load, "user/mine")),
    facts(without_compiling(load, "user/inner", subfolder="inner")),
    facts(load("user/mine", revision="bare")),
    facts(load("user/other")),
]))
""",
        token=None,
        offline=True,
    )
    assert len(hub.requests) == asked
    assert offline == [online[0], online[1], bare, other]


def test_tokenizer(hub: LocalHub, home: Path, gpt2_like: Path, llama3_like: Path) -> None:
    source = gpt2_like.read_bytes()
    good = repository(gpt2_like)
    commit = hub.commit("user/mine", good)
    hub.commit("user/bare", {"tokenizer.json": source})
    bad = {title: case for title, case in unsound(source, llama3_like.read_bytes()).items() if title not in LIES}
    names = {title: title.replace(" ", "-") for title in bad}
    for title, (cartridge, _) in bad.items():
        hub.commit(f"user/{names[title]}", {"tokenizer.json": source, "tokenizer.dat": cartridge})
    code = f"""
load = crayon_hf.Tokenizer.from_pretrained
said = [facts(without_compiling(load, "user/mine")), facts(without_compiling(load, "user/mine", "{commit}"))]
said += [facts(load("user/bare")) for _ in range(2)]
said += [facts(load("user/" + name)) for name in {list(names.values())}]
greedy = without_compiling(load, "user/mine", mode="greedy").engine_report()
said.append([greedy["origin"], greedy["mode"]])
assert "transformers" not in sys.modules
print(json.dumps(said))
"""
    online = script(hub, home, code)
    mine, pinned, bare, bare_again, *others, greedy = online
    wanted = ids_of(gpt2_like)
    assert mine == pinned
    assert mine[:2] == ["repository", None]
    assert bare == bare_again
    assert bare[:2] == ["cache", None]
    assert len(hub.asked("HEAD", "user/bare/.*tokenizer.dat")) == 1
    for (origin, refused, _, ids), (title, (_, reason)) in zip(others, bad.items(), strict=True):
        assert (origin, ids) == ("cache", wanted), title
        assert reason in refused
    assert greedy == ["repository", "greedy"]
    asked = len(hub.requests)
    assert script(hub, home, code, offline=True) == online
    assert len(hub.requests) == asked
