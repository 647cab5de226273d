"""Conversion of a catalogue, a TOML list of tokenizers: required fields, certificates, the index, and runs that are
killed and continued."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tokenizers

pytest.importorskip("tomllib")  # Python 3.11

from conversion import catalogue, script
from conversion.catalogue_entries import (
    CatalogueError,
    DigestError,
    Entry,
    EntryError,
    MissingLicenceError,
    read_catalogue,
)
from conversion.catalogue_output import NotCertifiedError, Output, UnexpectedIdsError
from conversion.tiktoken import source_of_encoding
from crayon_hf import Tokenizer, certificate
from crayon_hf.formats import tiktoken_objects
from crayon_hf.formats.tiktoken import R50K_PATTERN, write_ranks
from crayon_hf.parity.report.run import make_report
from tests.hub.local_hub import LocalHub

ROOT = Path(__file__).parents[2]
TEXT = "Hello, wörld! <|endoftext|>"


def entry(name: str, file: Path, **said: Any) -> str:
    """A catalogue's entry for the tokenizer.json `file`, as TOML. `said` replaces keys; None leaves a key out."""
    ids = tokenizers.Tokenizer.from_file(str(file)).encode(TEXT).ids
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    keys = {"name": name, "path": str(file), "sha256": digest, "licence": "MIT", "ids": ids} | said
    lines = [f"{key} = {json.dumps(keys[key])}" for key in keys if key not in ("ids", "decoded", "text")]
    texts = [f"{key} = {json.dumps(keys[key])}" for key in ("ids", "decoded") if keys.get(key) is not None]
    lines = [line for line in lines if not line.endswith(" = null")]
    return "\n".join(["[[vocabulary]]", *lines, "[[vocabulary.text]]", f"text = {json.dumps(TEXT)}", *texts, ""])


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return tmp_path / "made"


def run(path: Path, made: Path, *options: str) -> int:
    return catalogue.main([str(path), "-o", str(made), "--strings", "0", *options])


def index(made: Path) -> dict[str, Any]:
    document = json.loads((made / "catalogue.json").read_bytes())
    assert document["schema"] == "crayon-hf/catalogue/1"
    return {record["name"]: record for record in document["vocabularies"]}


def snapshot(made: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below `made` with its modification time and contents."""
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in made.rglob("*") if path.is_file()}


HELD = """
import sys, time
from conversion import catalogue
from conversion.catalogue_output import Output
certify = Output._certify
def held(self, entry, *more):
    if entry.name == "small":
        print("held", flush=True)
        time.sleep(600)
    return certify(self, entry, *more)
Output._certify = held
catalogue.main(sys.argv[1:])
"""
"""`python -m conversion.catalogue`, but it stops before the certificate of the vocabulary "small"."""


@pytest.mark.skipif(sys.platform == "win32", reason="groups of processes")
def test_killed_and_continued(gpt2_like: Path, tmp_path: Path, made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run is killed while it makes the second vocabulary. The next run keeps the first and makes the second; a third
    run does nothing."""
    path, names = tmp_path / "list.toml", ["science", "small"]
    science = entry("science", ROOT / "crayon_hf" / "profiles" / "science.json")
    path.write_text(science + entry("small", gpt2_like), encoding="utf-8")
    options = [str(path), "-o", str(made), "--strings", "20"]
    command = [sys.executable, "-c", HELD, *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(f"science: {made / 'science' / 'tokenizer.dat'}: agreed with")
        assert process.stdout.readline() == "held\n"
        os.killpg(process.pid, signal.SIGKILL)
    before = snapshot(made / "science")
    assert {path.name for path in made.iterdir()} == {".catalogue", "catalogue.json", "science"}
    assert list(index(made)) == ["science"]
    assert catalogue.main(options) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("is finished")
    assert all(": agreed with tokenizers" in line for line in said[1:-1])
    assert said[-1] == f"{made / 'catalogue.json'}: {len(names)} of {len(names)} vocabularies"
    assert snapshot(made / "science") == before
    assert {path.name for path in made.iterdir()} == {".catalogue", "catalogue.json", *names}
    assert {path.name for path in (made / ".catalogue").iterdir()} == {"lock", *(f"{name}.json" for name in names)}
    records = index(made)
    assert list(records) == names
    for name, record in records.items():
        cartridge = made / name / "tokenizer.dat"
        found = certificate.read(cartridge)
        assert found is not None
        assert record["certificate"] == found.summary()
        assert f"--only {name} --strings 20" in found.command
        assert record["versions"].keys() == {"crayon-hf", "tokenizers"}
        assert (record["licence"], record["ids"]) == ("MIT", Tokenizer.from_file(cartridge).get_vocab_size())
        assert all(script.digest_of(str(made / file["path"])) == file["sha256"] for file in record["files"])
    everything = snapshot(made)
    assert catalogue.main(options) == 0
    assert snapshot(made) == everything


@pytest.mark.parametrize(
    ("said", "kind", "message"),
    [
        ({"sha256": "0" * 64}, DigestError, "expected 0000"),
        ({"sha256": "abc"}, EntryError, "not 64 digits"),
        ({"licence": None}, MissingLicenceError, "licence is missing"),
        ({"licence": " "}, EntryError, "licence is ' '"),
        ({"ids": [1, 2]}, UnexpectedIdsError, "has the ids"),
        ({"ids": None}, EntryError, "has text, ids"),
        ({"decoded": "Hello"}, UnexpectedIdsError, "expected 'Hello'"),
        ({"encoding": "gpt2"}, EntryError, "expected one of"),
        ({"revision": "v1"}, EntryError, "repo needs a revision"),
        ({"path": None, "repo": "name", "revision": "v1"}, EntryError, "'name@v1'"),
        ({"license": "MIT"}, EntryError, "unknown key license"),
        ({"path": "none.json"}, FileNotFoundError, "none.json"),
        ({"special_tokens": 5}, EntryError, "special_tokens is 5"),
        ({"pattern": "a"}, ValueError, "pattern"),
    ],
)
def test_an_entry_that_fails(
    said: dict[str, Any],
    kind: type[Exception],
    message: str,
    gpt2_like: Path,
    tmp_path: Path,
    made: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """For an entry that fails, the run prints one line that begins with its name, leaves no file of it, and exits with
    1. The other entries are made."""
    path = tmp_path / "list.toml"
    path.write_text(entry("bad", gpt2_like, **said) + entry("good", gpt2_like), encoding="utf-8")
    assert run(path, made) == 1
    out, err = capsys.readouterr()
    assert err.startswith("FAILED bad: ")
    assert message in err
    assert len(err.splitlines()) == 1
    assert out.splitlines()[-1].endswith("catalogue.json: 1 of 2 vocabularies")
    assert list(index(made)) == ["good"]
    assert {each.name for each in made.iterdir()} == {".catalogue", "catalogue.json", "good"}
    with Output(made, ["bad"], is_flat=False, strings=0) as output, pytest.raises(kind):
        output.make(read_catalogue(path)[0][1](), path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[vocabulary]", "is not TOML"),
        ("vocabulary = 5", "expected tables"),
        ("[other]\n[[vocabulary]]\nname = 'a'", "expected tables"),
        ("[[vocabulary]]\nname = '../a'", "the name '../a'"),
        ("[[vocabulary]]\nlicence = 'MIT'", "vocabulary 1 has the name None"),
        ("[[vocabulary]]\nname = 'a'\n[[vocabulary]]\nname = 'a'", "two vocabularies are called a"),
        ("[[vocabulary]]\nname = 'catalogue'", "called like the index"),
    ],
)
def test_a_file_that_lists_nothing(text: str, message: str, tmp_path: Path, made: Path) -> None:
    (tmp_path / "list.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogueError, match=message):
        run(tmp_path / "list.toml", made)
    assert not made.exists()


def test_an_encoding_of_an_entry_is_not_a_path(
    gpt2_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that names a published encoding never means a file of that name in the working directory."""
    (tmp_path / "r50k_base").write_bytes(gpt2_like.read_bytes())
    (tmp_path / "published").write_bytes(write_ranks({bytes([byte]): byte for byte in range(256)}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tiktoken_objects, "find_published_file", lambda name: str(tmp_path / "published"))
    digest = source_of_encoding("r50k_base").digest
    converted, _ = Entry("ranks", digest, "MIT", (), encoding="r50k_base").read(tmp_path)
    assert (converted.name, converted.reference) == ("r50k_base", "tiktoken")


def test_no_certificate_without_agreement(
    gpt2_like: Path, tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def differing(*arguments: Any, **options: Any) -> Any:
        report = make_report(*arguments, **options)
        suites = [dataclasses.replace(suite, differing=1, categories=()) for suite in report.suites]
        return dataclasses.replace(report, suites=tuple(suites))

    monkeypatch.setattr("conversion.catalogue_output.make_report", differing)
    path = tmp_path / "list.toml"
    path.write_text(entry("one", gpt2_like), encoding="utf-8")
    assert run(path, made, "--strings", "5") == 1
    assert "inputs differ from tokenizers" in capsys.readouterr().err
    assert {each.name for each in made.iterdir()} == {".catalogue"}
    with Output(made, ["one"], is_flat=False, strings=5) as output, pytest.raises(NotCertifiedError):
        output.make(read_catalogue(path)[0][1](), path)


def test_what_has_changed_is_made_again(
    gpt2_like: Path, llama3_like: Path, tmp_path: Path, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "list.toml"
    path.write_text(entry("one", gpt2_like) + entry("two", gpt2_like), encoding="utf-8")
    assert run(path, made) == 0
    (made / "one" / "notes.txt").write_text("the user's own")
    two = snapshot(made / "two")
    path.write_text(entry("one", llama3_like) + entry("two", gpt2_like), encoding="utf-8")
    assert run(path, made, "--only", "one") == 0
    assert index(made)["one"]["source_sha256"] == hashlib.sha256(llama3_like.read_bytes()).hexdigest()
    assert (made / "one" / "notes.txt").exists()
    ids = Tokenizer.from_file(made / "one" / "tokenizer.dat").encode(TEXT).ids
    assert ids == Tokenizer.from_file(llama3_like).encode(TEXT).ids
    assert snapshot(made / "two") == two
    good = (made / "two" / "tokenizer.dat").read_bytes()
    (made / "two" / "tokenizer.dat").write_bytes(good[:-1])
    capsys.readouterr()
    assert run(path, made) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("is finished")
    assert (made / "two" / "tokenizer.dat").read_bytes() == good


def test_one_run_at_a_time(gpt2_like: Path, tmp_path: Path, made: Path) -> None:
    path = tmp_path / "list.toml"
    path.write_text(entry("one", gpt2_like), encoding="utf-8")
    with Output(made, ["one"], is_flat=False, strings=0), pytest.raises(Exception, match="another run writes to"):
        run(path, made)
    assert run(path, made) == 0
    with pytest.raises(CatalogueError, match="has no three; it has one"):
        run(path, made, "--only", "three")


@pytest.mark.slow
def test_other_sources(sources: dict[str, Path], tmp_path: Path, made: Path) -> None:
    """Entries may also be a rank file with its pattern, and a Hub repository at a commit."""
    pytest.importorskip("huggingface_hub")
    shutil.copy(sources["tiktoken"], tmp_path / "mine.tiktoken")
    digest = hashlib.sha256(sources["tiktoken"].read_bytes()).hexdigest()
    of_ranks = [
        "[[vocabulary]]\nname = 'ranks'\npath = 'mine.tiktoken'\nlicence = 'MIT'\nsha256 = '" + digest + "'",
        f"pattern = {json.dumps(R50K_PATTERN)}\nspecial_tokens = {{ '<|end|>' = 2000 }}",
        "[[vocabulary.text]]\ntext = '<|end|>'\nids = [2000]\n",
    ]
    source = sources["huggingface"] / "tokenizer.json"
    with LocalHub() as hub:
        commit = hub.commit("user/name", {"tokenizer.json": source.read_bytes()})
        hub.commit("user/name", {"tokenizer.json": None, "other": b""})
        of_hub = entry("hub", source, path=None, repo="user/name", revision=commit)
        (tmp_path / "list.toml").write_text("\n".join(of_ranks) + of_hub, encoding="utf-8")
        environment = hub.environment(tmp_path / "home")
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment["PYTHONPATH"]])
        command = [sys.executable, "-m", "conversion.catalogue", "list.toml", "-o", made, "--strings", "20"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert hub.unknown() == []
    found = index(made)
    assert (found["hub"]["source"], found["ranks"]["source"]) == (f"user/name@{commit}", "mine.tiktoken")
    assert found["ranks"]["certificate"].startswith("agreed with tiktoken 0.")
    assert found["hub"]["certificate"].startswith("agreed with tokenizers 0.")
