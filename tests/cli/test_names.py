"""A name that is a path and also a profile or an encoding: every command takes the path, and says so once."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from crayon_hf import AmbiguousNameWarning, Tokenizer
from crayon_hf.fingerprints import digest_of
from crayon_hf.formats import convert
from crayon_hf.hub import reports
from crayon_hf.tokenizer.resolve import open_tokenizer
from tests.support.command import call

TEXT = "Größe: it's what they've said in 2024 👩‍👩‍👧‍👦"
SAID = (
    "'my-model' is a path here and also the name of a profile: the path is used "
    "(write ./my-model for the path, or profile:my-model)"
)
WARNED = f"crayon-hf: warning: {SAID}\n".encode()
FEW = ("--strings", "5", "--tokens", "0", "--text", "book.txt", "--no-speed")

COMMANDS = {
    "encode": ["encode", TEXT, "-t", "NAME"],
    "decode": ["decode", "300 301 302", "-t", "NAME"],
    "count": ["count", "-f", "book.txt", "-t", "NAME"],
    "truncate": ["truncate", "-f", "book.txt", "-n", "7", "-t", "NAME"],
    "split": ["split", "-f", "book.txt", "-n", "7", "--boundaries", "none", "-t", "NAME"],
    "inspect": ["inspect", TEXT, "-t", "NAME"],
}
"""Commands whose output shows which tokenizer NAME means, because it depends on the tokenizer alone."""

DIGESTED = {
    "info": ["info", "NAME", "--json"],
    "parity": ["parity", "NAME", *FEW, "--json", "-"],
    "convert": ["convert", "NAME", "-o", "made.json"],
    "publish": ["publish", "user/name", "--from", "NAME", "--no-speed", "--dry-run", "made", "--json"],
    "tokenize": ["tokenize", "book.txt", "-o", "made", "-t", "NAME", "--format", "npy", "--workers", "2"],
}
"""Commands whose output or files have the digest of the ``tokenizer.json`` that NAME means."""


@pytest.fixture
def place(gpt2_like: Path, llama3_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with ``my-model/`` and texts. ``my-model`` is also a profile, of another vocabulary."""
    for path, source in (("profiles/my-model.json", gpt2_like), ("here/my-model/tokenizer.json", llama3_like)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(source.read_bytes())
    (tmp_path / "here" / "book.txt").write_text(f"{TEXT}\n" * 20, encoding="utf-8")
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(tmp_path / "profiles"))
    monkeypatch.setattr(reports, "RUN", {"strings": 5, "tokens": 0, "texts": ()})
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def named(command: list[str], name: str) -> list[str]:
    return [name if word == "NAME" else word for word in command]


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_the_path_is_taken(place: Path, command: list[str]) -> None:
    bare, path, profile = (call(*named(command, name)) for name in ("my-model", "./my-model", "profile:my-model"))
    assert bare.returncode == path.returncode == profile.returncode == 0, (bare, path, profile)
    assert bare.stdout == path.stdout != profile.stdout
    assert (bare.stderr, path.stderr, profile.stderr) == (WARNED, b"", b"")


@pytest.mark.parametrize("name", ["my-model", "./my-model", "profile:my-model"])
@pytest.mark.parametrize("command", DIGESTED.values(), ids=DIGESTED)
def test_the_same_source_is_read(
    place: Path, command: list[str], name: str, gpt2_like: Path, llama3_like: Path
) -> None:
    done = call(*named(command, name))
    assert done.returncode == 0, done
    said = [line for line in done.stderr.splitlines(keepends=True) if b"warning" in line]
    assert said == ([WARNED] if name == "my-model" else [])
    expected = gpt2_like if name == "profile:my-model" else llama3_like
    source = sha256(expected.read_bytes()).hexdigest()
    assert digest_read(command[0], done.stdout, place) in (source, digest_of(Tokenizer.from_file(expected)))


def digest_read(command: str, printed: bytes, place: Path) -> str:
    """Return the digest of the ``tokenizer.json`` that a command read, from its output or files."""
    if command in ("info", "parity"):
        report = json.loads(printed)
        return str((report if command == "info" else report["target"])["source_digest"])
    if command == "tokenize":
        return str(json.loads((place / "made" / "manifest.json").read_bytes())["tokenizer"]["digest"])
    return digest_of(Tokenizer.from_file(place / ("made.json" if command == "convert" else "made/tokenizer.json")))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("profile:none", "no profile 'none'; searched"),
        ("profile:a/b", "'a/b' is not a profile name"),
        ("encoding:none", "'none' is not an encoding that tiktoken publishes: "),
    ],
)
@pytest.mark.parametrize("command", [["encode", "x", "-t", "NAME"], ["convert", "NAME"], ["parity", "NAME"]])
def test_a_prefix_means_nothing_else(place: Path, command: list[str], name: str, says: str) -> None:
    done = call(*named(command, name))
    (line,) = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout) == (2 if command[0] == "parity" else 1, b"")
    assert line.startswith(f"crayon-hf: error: {says}")


# -- in Python


def test_python_opens_what_the_commands_open(place: Path, gpt2_like: Path, llama3_like: Path) -> None:
    paths = {"path": Tokenizer.from_file(llama3_like), "profile": Tokenizer.from_file(gpt2_like)}
    ids = {what: tokenizer.encode(TEXT).ids for what, tokenizer in paths.items()}
    with pytest.warns(AmbiguousNameWarning):
        assert open_tokenizer("my-model").encode(TEXT).ids == ids["path"]
    assert open_tokenizer("./my-model").encode(TEXT).ids == ids["path"]
    assert open_tokenizer(Path("my-model")).encode(TEXT).ids == ids["path"]
    assert open_tokenizer("profile:my-model").encode(TEXT).ids == ids["profile"]
    assert Tokenizer.from_profile("my-model").encode(TEXT).ids == ids["profile"]
    assert convert("profile:my-model").tokenizer_json == gpt2_like.read_bytes()
    (place / "my-model").rename(place / "elsewhere")
    assert convert("my-model").tokenizer_json == gpt2_like.read_bytes()  # as crayon-hf convert does
    assert open_tokenizer("my-model").encode(TEXT).ids == ids["profile"]
