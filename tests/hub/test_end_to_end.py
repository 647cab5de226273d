"""From one person to another: compare, publish, pull on another cache, load, and the ids are the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from crayon_hf import _core
from tests.conftest import SENTENCES
from tests.hub.cartridge_repos import REPO, profile, profile_directory
from tests.hub.hub_client import Session
from tests.hub.local_hub import LocalHub
from tests.parity.report_samples import agreeing

pytestmark = pytest.mark.slow

Client = Callable[..., Any]
TEXTS = [*SENTENCES, "", " ", "\n\n", "a" * 3000, "\ud7ff\ue000\U0001f642 <|endoftext|><mask>", " ".join(SENTENCES)]

# What somebody does with a repository, and with the profile that was pulled from it.
LOADING = """
import json, sys
import crayon_hf
repo, texts = json.loads(sys.stdin.readline())

auto = crayon_hf.AutoTokenizer.from_pretrained(repo)
plain = crayon_hf.Tokenizer.from_pretrained(repo)
named = crayon_hf.Tokenizer.from_profile("tok")
said = {"ids": {
    "auto": [auto(text).input_ids for text in texts],
    "plain": [encoding.ids for encoding in plain.encode_batch(texts)],
    "profile": [named.encode(text).ids for text in texts],
}}
said["decoded"] = [auto.decode(ids) for ids in said["ids"]["auto"]]
reports = [tokenizer.engine_report() for tokenizer in (auto, plain)]
said["reports"] = [[report["mode"], report["origin"], report["refused"]] for report in reports]
if len(sys.argv) > 1:
    import transformers
    stock = transformers.AutoTokenizer.from_pretrained(repo)
    said["ids"]["stock"] = [stock(text).input_ids for text in texts]
    said["ours"] = [isinstance(tokenizer, crayon_hf.CrayonTokenizerFast) for tokenizer in (auto, stock)]
    said["lengths"] = [tokenizer.model_max_length for tokenizer in (auto, stock)]
print(json.dumps(said))
"""


def load(hub: LocalHub, home: Path, *more: str, **environment: Any) -> Any:
    """What `LOADING` says."""
    done = subprocess.run(
        [sys.executable, "-c", LOADING, *more],
        env=hub.environment(home, **environment),
        cwd=home,
        input=json.dumps([REPO, TEXTS]),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_publish_pull_load(hub: LocalHub, tmp_path: Path, llama3_like: Path) -> None:
    path = llama3_like
    reference = tokenizers.Tokenizer.from_file(str(path))
    expected = [encoding.ids for encoding in reference.encode_batch(TEXTS)]
    publisher, reader = tmp_path / "publisher", tmp_path / "reader"
    source = publisher / "source"
    source.mkdir(parents=True)
    (source / "tokenizer.json").write_bytes(path.read_bytes())
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 4096}
    (source / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")

    with Session(hub, publisher) as crayon:
        few = ["--strings", "100", "--megabytes", "0.02", "--no-speed"]
        compared = crayon("parity", "source", *few, "--json", "parity.json")
        assert compared.returncode == 0, compared.stderr
        published = crayon("publish", REPO, "--from", "source", "--report", "parity.json", "--json")
        assert published.returncode == 0, published.stderr
    commit = json.loads(published.stdout)["commit"]
    assert commit == hub.head(REPO).sha

    with Session(hub, reader, token=None) as crayon:
        pulled = crayon("pull", REPO, "--json")
        assert pulled.returncode == 0, pulled.stderr
        told = json.loads(pulled.stdout)
    assert (told["origin"], told["reason"], told["commit"]) == ("repository", None, commit)
    files = ("tokenizer.json", "tokenizer.dat")
    assert profile(reader) == {file: hub.read(REPO, file) for file in files}

    with Session(hub, reader, token=None) as crayon:  # anybody can compare what is published
        again = crayon("parity", REPO, *few)
        assert (again.returncode, again.stderr) == (0, "")
        assert "its cartridge tokenizer.dat" in again.stdout.splitlines()[0]
    certificate = json.loads(_core.Engine.from_bytes(profile(reader)["tokenizer.dat"]).certificate or "null")
    assert certificate["reference"] == {"name": "tokenizers", "version": tokenizers.__version__}
    assert certificate["source_digest"] == sha256(path.read_bytes()).hexdigest()

    said = load(hub, reader, "with the stock class", token=None)
    assert said["ids"] == dict.fromkeys(("auto", "plain", "profile", "stock"), expected)
    assert said["decoded"] == [reference.decode(ids, skip_special_tokens=False) for ids in expected]
    assert said["reports"] == [["exact", "repository", None]] * 2
    assert said["ours"] == [True, False]
    assert said["lengths"] == [4096, 4096]
    assert any(request.status == 200 for request in hub.asked("GET", "tokenizer.dat"))

    asked = len(hub.requests)
    offline = load(hub, reader, token=None, offline=True)
    assert {name: offline["ids"][name] for name in ("auto", "plain", "profile")} == dict.fromkeys(
        ("auto", "plain", "profile"), expected
    )
    assert offline["reports"] == said["reports"]
    assert len(hub.requests) == asked


def test_the_next_version(hub: LocalHub, tmp_path: Path, gpt2_like: Path, qwen_like: Path) -> None:
    """A pull follows the branch, a pinned revision stays, and both are private to who may see them."""
    author, reader = tmp_path / "author", tmp_path / "reader"
    author.mkdir()
    heads = []
    for number, path in enumerate((gpt2_like, qwen_like)):
        (author / f"{number}.json").write_bytes(path.read_bytes())
        report = agreeing()
        target = replace(report.target, source_digest=sha256(path.read_bytes()).hexdigest())
        report = replace(report, speeds=(), target=target)
        (author / "parity.json").write_text(report.to_json(), encoding="utf-8")
        with Session(hub, author) as crayon:
            done = crayon("publish", REPO, "--from", f"{number}.json", "--report", "parity.json", "--private")
            assert done.returncode == 0, done.stderr
        heads.append(hub.head(REPO).sha)
        with Session(hub, reader, token=hub.read_token) as crayon:
            assert crayon("pull", REPO).returncode == 0
            assert crayon("pull", f"{REPO}@{heads[0]}", "--name", "pinned").returncode == 0
        assert profile(reader, "tok")["tokenizer.dat"] == hub.read(REPO, "tokenizer.dat", revision=heads[number])
        assert profile(reader, "pinned")["tokenizer.dat"] == hub.read(REPO, "tokenizer.dat", revision=heads[0])
    assert heads[0] != heads[1]
    for token in (None, hub.other_token):
        with Session(hub, tmp_path / "stranger", token=token) as crayon:
            done = crayon("pull", REPO)
            assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
            assert done.stderr.startswith(f"crayon-hf: error: {REPO}: ")
    assert not profile_directory(tmp_path / "stranger").exists()
