"""A name that is a path here and also a profile or an encoding: every command takes the path, and says so once."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from crayon_hf import AmbiguousNameWarning, Tokenizer, tokenize_shard
from crayon_hf.adapters.common import tokenizer_of
from crayon_hf.formats import convert
from crayon_hf.formats.tiktoken import write_ranks
from crayon_hf.hub import publishing
from crayon_hf.hub_access import staging
from crayon_hf.parity.compare.targets import find_target
from crayon_hf.tokenizer.resolve import open_tokenizer
from parity.bench import defaults
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
"""Commands that print the same for the same tokenizer."""

DIGESTED = {
    "info": ["info", "NAME", "--json"],
    "parity": ["parity", "NAME", *FEW, "--json", "-"],
    "convert": ["convert", "NAME", "-o", "made.json"],
    "publish": ["publish", "user/name", "--from", "NAME", "--no-speed", "--dry-run", "made", "--json"],
    "tokenize": ["tokenize", "book.txt", "-o", "made", "-t", "NAME", "--format", "npy", "--workers", "2"],
}
"""Commands whose output or files say which ``tokenizer.json`` was read."""


@pytest.fixture
def place(gpt2_like: Path, llama3_like: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with ``my-model/`` and texts; ``my-model`` is also a profile, of another vocabulary."""
    for path, source in (("profiles/my-model.json", gpt2_like), ("here/my-model/tokenizer.json", llama3_like)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(source.read_bytes())
    (tmp_path / "here" / "book.txt").write_text(f"{TEXT}\n" * 20, encoding="utf-8")
    monkeypatch.setenv("CRAYON_PROFILE_DIR", str(tmp_path / "profiles"))
    monkeypatch.setattr(publishing, "RUN", {"strings": 5, "tokens": 0, "texts": ()})
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
    assert read_by(command[0], done.stdout, place) == source_of(command[0], expected)


def read_by(command: str, printed: bytes, place: Path) -> str:
    if command == "info":
        return str(json.loads(printed)["source_digest"])
    if command == "parity":
        return str(json.loads(printed)["target"]["source_digest"])
    if command == "tokenize":
        return str(json.loads((place / "made" / "manifest.json").read_bytes())["tokenizer"]["digest"])
    made = place / ("made.json" if command == "convert" else "made/tokenizer.json")
    return str(sorted(json.loads(made.read_bytes())["model"]["vocab"]))


def source_of(command: str, source: Path) -> str:
    if command == "tokenize":
        from crayon_hf.fingerprints import digest_of

        return digest_of(Tokenizer.from_file(source))
    if command in ("convert", "publish"):
        return str(sorted(json.loads(source.read_bytes())["model"]["vocab"]))
    return sha256(source.read_bytes()).hexdigest()


def test_greedy_parity_says_it_once(place: Path) -> None:
    done = call("parity", "my-model", "--greedy", "--text", "book.txt", "--rounds", "0")
    assert (done.returncode, done.stderr) == (0, WARNED)


def test_training_like_it_says_it_once(place: Path) -> None:
    done = call("train", "book.txt", "-o", "made", "--vocab-size", "300", "-t", "my-model")
    assert (done.returncode, done.stderr) == (0, WARNED)


def test_a_corpus_report_takes_it(place: Path) -> None:
    assert call("tokenize", "book.txt", "-o", "made", "-t", "./my-model", "--format", "npy").returncode == 0
    done = call("corpus-report", "made", "-t", "my-model")
    assert (done.returncode, done.stderr) == (0, WARNED)


@pytest.mark.parametrize("command", [["encode", TEXT], ["info"], ["parity", *FEW]], ids=["encode", "info", "parity"])
def test_the_default_is_the_profile(place: Path, command: list[str], gpt2_like: Path) -> None:
    """A directory that happens to be called lite does not change what a command without ``-t`` opens."""
    before = call(*command)
    (place / "lite").mkdir()
    (place / "lite" / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    after = call(*command)
    assert (after.returncode, after.stderr) == (before.returncode, before.stderr) == (0, b"")
    if command[0] != "parity":
        assert after.stdout == before.stdout
    assert b"profile:lite" not in after.stdout
    assert call("encode", TEXT, "-t", "lite").stdout != call("encode", TEXT).stdout


def test_convert_calls_the_output_after_the_name(place: Path) -> None:
    assert call("convert", "profile:my-model", "--to", "tokenizer.json").returncode == 0
    assert (place / "my-model.json").is_file()


def test_a_path_of_an_encoding(place: Path, llama3_like: Path) -> None:
    (place / "cl100k_base").write_bytes(llama3_like.read_bytes())
    done = call("encode", TEXT, "-t", "cl100k_base")
    assert done.stdout == call("encode", TEXT, "-t", "./cl100k_base").stdout
    assert b"also the name of an encoding of tiktoken: the path is used (write ./cl100k_base for" in done.stderr
    assert b"or encoding:cl100k_base)" in done.stderr


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


CALLS = {
    "corpora": lambda name, place: tokenize_shard(place / "book.txt", place / "made", "npy", tokenizer=name),
    "adapters": lambda name, place: tokenizer_of(name),
    "convert": lambda name, place: convert(name),
    "publish": lambda name, place: staging.stage(name),
    "parity": lambda name, place: find_target(name, "", str(place)),
    "bench": lambda name, place: defaults.comparable(name, str(place)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_warn_once(place: Path, name: str) -> None:
    with pytest.warns(AmbiguousNameWarning) as caught:
        CALLS[name]("my-model", place)
    assert [str(each.message) for each in caught] == [SAID]
    assert caught[0].filename == (defaults.__file__ if name == "bench" else __file__)


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


def test_a_file_is_no_different_from_a_directory(place: Path, llama3_like: Path, gpt2_like: Path) -> None:
    (place / "profiles").mkdir()
    (place / "other").write_bytes(llama3_like.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        (place / "profiles" / "other.json").write_bytes(gpt2_like.read_bytes())
        patch.setenv("CRAYON_PROFILE_DIR", str(place / "profiles"))
        with pytest.warns(AmbiguousNameWarning):
            assert convert("other").tokenizer_json == llama3_like.read_bytes()
    assert convert("other").tokenizer_json == llama3_like.read_bytes()  # and no warning without the profile


def test_a_link_that_leads_nowhere_is_a_path(place: Path) -> None:
    """It is not passed over for the profile without a word."""
    (place / "broken").symlink_to(place / "gone")
    (place.parent / "profiles" / "broken.json").write_bytes((place.parent / "profiles" / "my-model.json").read_bytes())
    with pytest.warns(AmbiguousNameWarning), pytest.raises(FileNotFoundError):
        open_tokenizer("broken")


def test_an_explicit_encoding_is_not_a_path(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from crayon_hf.formats import tiktoken as conversion

    ranks = write_ranks({bytes([byte]): byte for byte in range(256)})
    (place / "r50k_base").write_bytes(ranks)
    (tmp_path / "published").write_bytes(ranks)
    monkeypatch.setattr(conversion, "find_published_file", lambda name: str(tmp_path / "published"))
    assert open_tokenizer("encoding:r50k_base").encode("ab").ids == [97, 98]
