"""Opening a tokenizer from a Hub repository that has a cartridge: with transformers, without, and in the playground."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
import tokenizers

from tests.hub.hub_client import run_client, start_client
from tests.hub.hub_tokenizers import repository
from tests.hub.local_hub import LocalHub
from tests.playground.client import Client, request_fields

pytest.importorskip("huggingface_hub")

CONFIG = {"tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}).encode()}

TEXT = "The quick brown fox; it's what they've said. Größe, 敏捷的 🙂"
BEGIN = f"""
import json, sys, crayon_hf
TEXT = {TEXT!r}
from crayon_hf import _core

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
    """Run a program as a client of the Hub, and return its output, parsed as JSON."""
    return json.loads(run_client(hub, BEGIN + code, home, check=True, **options).stdout)


@pytest.mark.slow
def test_auto_tokenizer(hub: LocalHub, home: Path, gpt2_like: Path) -> None:
    files = {**repository(gpt2_like), **CONFIG}
    hub.create("user/mine", private=True)
    hub.commit("user/mine", files)
    hub.commit("user/mine", {"tokenizer.dat": None}, revision="bare")
    hub.commit("user/inner", {f"inner/{name}": data for name, data in files.items()})
    hub.commit("user/plain", repository(gpt2_like))
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
by_revision = crayon_hf.Tokenizer.from_pretrained("user/mine", revision="bare", token={hub.token!r})
assert by_revision.engine_report()["origin"] == "cache"
said += [facts(load("user/mine", revision="bare", token={hub.token!r})) for _ in range(2)]
stock = transformers.AutoTokenizer.from_pretrained("user/mine", token={hub.token!r})
said.append([None, None, None, stock(TEXT)["input_ids"]])
print(json.dumps(said))
""",
        token=None,
    )
    wanted = tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids
    assert [ids == wanted for *_, ids in online] == [True] * len(online)
    *by_cartridge, bare, bare_again, _ = online
    for origin, refused, cartridge, _ in by_cartridge:
        assert (origin, refused) == ("repository", None)
        assert cartridge.startswith(str(home / "huggingface"))
    for origin, refused, cartridge, _ in (bare, bare_again):
        assert (origin, refused) == ("cache", None)
        assert cartridge.startswith(str(home / "crayon-cache"))
    # The missing cartridge was requested once.
    assert len(hub.asked("HEAD", "/bare/.*tokenizer.dat|" + hub.head("user/mine", "bare").sha + "/tokenizer.dat")) == 1
    asked = len(hub.requests)
    offline = """
load = crayon_hf.AutoTokenizer.from_pretrained
said = [without_compiling(load, "user/mine"), load("user/mine", revision="bare")]
said.append(without_compiling(crayon_hf.Tokenizer.from_pretrained, "user/plain"))
print(json.dumps([facts(tokenizer) for tokenizer in said]))
"""
    found = script(hub, home, offline, token=None, offline=True)
    assert found[:2] == [online[0], bare]
    assert found[2][3] == wanted
    assert len(hub.requests) == asked


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_the_playground(hub: LocalHub, home: Path, gpt2_like: Path, llama3_like: Path) -> None:
    """Requests to the Hub have the repositories' names, and never the user's text."""
    text = "secretive quick brown foxes"
    hub.commit("user/first", repository(gpt2_like))
    hub.commit("user/second", repository(llama3_like))
    process: Any = start_client(hub, ["-m", "crayon_hf", "playground", "user/first", "--text", text], home)
    address = process.stdout.readline().strip()

    place = urlsplit(address)
    client = Client(SimpleNamespace(server_port=place.port, token=place.path.strip("/")))
    assert "user/missing" in client.ask("open", {"name": "user/missing"})["error"]
    assert client.ask("open", {"name": "user/second"}) == {}
    before = len(hub.requests)
    fields = request_fields(text, "user/first", "user/second")
    answer = client.ask("encode", fields)
    for number, (panel, source) in enumerate(zip(answer["panels"], (gpt2_like, llama3_like), strict=True)):
        assert [row[0] for row in panel["rows"]] == tokenizers.Tokenizer.from_file(str(source)).encode(text).ids
        assert client.ask("check", fields | {"panel": number})["same"]
    assert len(hub.requests) == before  # the reference opens the downloaded files
    assert not any("secretive" in str(vars(request)) for request in hub.requests)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=600) == 130
