"""`crayon-hf pull` from a local Hub with the real client over a real socket, each time in its own process."""

from __future__ import annotations

import errno
import json
import time
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from crayon_hf import HubError
from crayon_hf.hub_access import client
from tests.hub.hub_client import failure, run_client
from tests.hub.hub_tokenizers import repository, with_token
from tests.hub.local_hub import LocalHub
from tests.support.versions import before_1

TEXT = "The quick brown fox; it's what they've said. Größe, 敏捷的 🙂 a <new> b"

pytest.importorskip("huggingface_hub")


class Client:
    """A user of the local Hub, with a home directory of their own."""

    def __init__(self, hub: LocalHub, home: Path) -> None:
        self.hub, self.home = hub, home
        self.profiles = home / ".cache" / "xerv" / "crayon" / "profiles"

    def run(self, *arguments: str, **options: Any) -> Any:
        """Run ``crayon-hf`` with these arguments; options as for `run_client`."""
        return run_client(self.hub, ["-m", "crayon_hf", *arguments], self.home, **options)

    def pull(self, *arguments: str, **options: Any) -> dict[str, Any]:
        """Return the output of a pull that succeeds."""
        done = self.run("pull", "--json", *arguments, check=True, **options)
        facts: dict[str, Any] = json.loads(done.stdout)
        assert ("compiled here: " in done.stderr) == (facts["reason"] is not None), done.stderr
        return facts

    def fails(self, *arguments: str, **options: Any) -> str:
        """Return the one-line message of a pull that fails. The directory of profiles must be unchanged."""
        before = self.seen()
        message = failure(self.run("pull", *arguments, **options))
        assert self.seen() == before
        return message

    def script(self, code: str, **options: Any) -> Any:
        """Run a program and return its output, parsed as JSON. It has `crayon_hf` and `outcome`."""
        return json.loads(run_client(self.hub, SCRIPT + code, self.home, check=True, **options).stdout)

    def seen(self) -> dict[str, int]:
        """The files in the directory of profiles, with the inode that each leads to."""
        return {str(path): path.stat().st_ino for path in self.profiles.rglob("*") if path.name != "lock"}


SCRIPT = f"""
import json, crayon_hf
def outcome(repo, **options):
    try:
        pulled = crayon_hf.pull(repo, **options)
        ids = crayon_hf.Tokenizer.from_profile(pulled.name).encode({TEXT!r}).ids
        return [pulled.origin, pulled.reason, ids]
    except Exception as error:
        return [type(error).__name__, str(error), None]
"""


@pytest.fixture
def user(hub: LocalHub, home: Path) -> Client:
    return Client(hub, home)


def ids_of(source: bytes) -> list[int]:
    ids: list[int] = tokenizers.Tokenizer.from_str(source.decode()).encode(TEXT).ids
    return ids


# -- effects


def test_pull(hub: LocalHub, user: Client, gpt2_like: Path) -> None:
    files = repository(gpt2_like)
    commit = hub.commit("user/mine", {**files, "README.md": b"# Mine", "model.safetensors": bytes(1000)})
    facts = user.pull("user/mine")
    at = user.profiles / "mine.dat"
    assert facts == {
        **{"name": "mine", "repo": "user/mine", "revision": "main", "commit": commit, "origin": "repository"},
        **{"reason": None, "changed": True, "cartridge": str(at), "source": str(at.with_suffix(".json"))},
    }
    assert at.read_bytes() == files["tokenizer.dat"]
    assert at.with_suffix(".json").read_bytes() == files["tokenizer.json"]
    assert not hub.asked("GET", "README|safetensors")
    before, asked = user.seen(), len(hub.requests)
    assert user.pull("user/mine") == {**facts, "changed": False}
    assert user.seen() == before
    assert [request.method for request in hub.requests[asked:] if "tokenizer" in request.target] == ["HEAD", "HEAD"]
    said = user.run("pull", "user/mine").stdout
    assert said == f"unchanged: user/mine@main (commit {commit[:12]}), profile mine: {at}\n"
    asked = len(hub.requests)
    assert user.pull("user/mine", offline=True) == {**facts, "changed": False}
    done = user.run("encode", TEXT, "-t", "mine", offline=True, check=True)
    assert done.stdout.split() == [str(id) for id in ids_of(files["tokenizer.json"])]
    report = json.loads(user.run("info", "-t", "mine", "--json", offline=True, check=True).stdout)
    assert (report["origin"], report["cartridge"]) == ("repository", str(at))
    assert report["pulled"] == {"repo": "user/mine", "revision": "main", "commit": commit}
    assert len(hub.requests) == asked


def test_revisions(hub: LocalHub, user: Client, gpt2_like: Path) -> None:
    old, new = repository(gpt2_like), repository(with_token(gpt2_like, "<new>"))
    first = hub.commit("user/mine", old)
    hub.commit("user/mine", new, revision="next")
    second = hub.commit("user/mine", {**new, "tokenizer.dat": None})
    said = user.script(
        f"""
def pull(*repo, **options):
    pulled = crayon_hf.pull(*repo, **options)
    known = crayon_hf.Tokenizer.from_profile(pulled.name).token_to_id("<new>")
    return [pulled.commit, pulled.origin, known is not None, pulled.changed]
print(json.dumps([
    pull("user/mine@{first}"), pull("user/mine"), pull("user/mine", "next", name="other"), pull("user/mine@{first}"),
]))
"""
    )
    assert said == [
        [first, "repository", False, True],
        [second, "compiled", True, True],
        [hub.head("user/mine", "next").sha, "repository", True, True],
        [first, "repository", False, True],
    ]


@before_1("class that reads vocab.json and merges.txt")
def test_other_vocabularies(hub: LocalHub, user: Client, gpt2_like: Path) -> None:
    model = json.loads(gpt2_like.read_bytes())["model"]
    merges = "\n".join(pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]).encode()
    vocab = json.dumps(model["vocab"]).encode()
    foreign = {"type": "Split", "pattern": {"Regex": r"(?<x>a)\k<x>"}, "behavior": "Isolated", "invert": False}
    document = json.loads(gpt2_like.read_bytes()) | {"pre_tokenizer": foreign}
    other = repository(gpt2_like) | {"tokenizer.dat": repository(with_token(gpt2_like, "<new>"))["tokenizer.dat"]}
    cases: dict[str, tuple[dict[str, bytes], str, str]] = {
        "slow": ({"vocab.json": vocab, "merges.txt": merges}, "compiled", "vocab.json was converted"),
        "other": (other, "compiled", "cartridge is not used"),
        "half": ({"vocab.json": vocab}, "VocabularyError", "merges.txt is not beside it"),
        "two": ({"a.gguf": b"GGUF", "b.gguf": b"GGUF"}, "VocabularyError", "2 files"),
        "empty": ({"README.md": b"# Nothing"}, "HubError", "no tokenizer.json"),
        "alone": ({"tokenizer.dat": repository(gpt2_like)["tokenizer.dat"]}, "HubError", "cannot be checked"),
        "wrong": ({"tokenizer.json": b"[1, 2"}, "VocabularyError", "user/wrong"),
        "foreign": ({"tokenizer.json": json.dumps(document).encode()}, "UnsupportedError", "cannot be a profile"),
    }
    for name, (files, _, _) in cases.items():
        hub.commit(f"user/{name}", files)
    said = user.script(f"print(json.dumps([outcome('user/' + repo) for repo in {list(cases)}]))")
    for (kind, message, _), (_, wanted_kind, wanted) in zip(said, cases.values(), strict=True):
        assert (kind, wanted in message) == (wanted_kind, True), message
    assert said[0][2] == ids_of((user.profiles / "slow.json").read_bytes()) == ids_of(gpt2_like.read_bytes())
    assert sorted(path.name for path in user.profiles.glob("*.dat")) == ["other.dat", "slow.dat"]


@pytest.mark.parametrize(
    ("repo", "revision"),
    [
        *((name, None) for name in ("", "a/b/c", "a b/c", "user/mine@", "user/mine@a b", "user/mine@--x", "../mine")),
        *((name, None) for name in ("user/mi..ne", "user/mine@a:b")),
        ("user/mine@main", "main"),
        ("user/mine", ""),
    ],
)
def test_wrong_names(repo: str, revision: str | None) -> None:
    with pytest.raises(ValueError, match=r"name of a repository|revision"):
        client.parse(repo, revision)


# -- failures


@pytest.mark.slow
def test_what_is_not_there(hub: LocalHub, user: Client, gpt2_like: Path) -> None:
    for name in ("user/mine", "stranger/gated", "user/hidden"):
        hub.create(name, gated=name.endswith("gated") and "manual", private=name.endswith("hidden"))
        hub.commit(name, repository(gpt2_like))
    hub.create("stranger/hidden", private=True)
    assert "hf auth login" in user.fails("user/nothing")
    said = user.script(
        """
print(json.dumps([
    outcome("user/mine@nope"), outcome("stranger/hidden"), outcome("stranger/hidden", token=False),
    outcome("user/mine", token="hf_wrong"), outcome("stranger/gated"),
]))
"""
    )
    keywords = ("no revision 'nope'", "does not exist", "log in", "log in", "gated repository")
    for (kind, message, _), wanted in zip(said, keywords, strict=True):
        assert (kind, wanted in message) == ("HubError", True), message
    assert "HF_HUB_OFFLINE" in user.fails("user/other", offline=True)
    assert user.pull("user/hidden", "--token", hub.read_token, token=None)["origin"] == "repository"


@pytest.mark.parametrize(("package", "command"), [("huggingface_hub", "pull"), ("yaml", "publish")])
def test_without_a_package(user: Client, package: str, command: str) -> None:
    code = f"""
        import sys
        sys.modules[{package!r}] = None
        from crayon_hf.cli import main
        sys.exit(main([{command!r}, "user/mine"]))
    """
    assert f"needs {package}" in failure(run_client(user.hub, code, user.home))
    assert user.hub.requests == []


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (OSError(errno.ENOSPC, "No space left", "/a/file"), 1),
        (ConnectionError("reset"), 4),
        (OSError("Consistency check"), 4),
    ],
)
def test_what_a_failure_becomes(monkeypatch: pytest.MonkeyPatch, error: OSError, tries: int) -> None:
    """After a temporary failure, a request is retried after 0.5, 1 and 2 seconds."""
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    calls = []

    def fail() -> None:
        calls.append(1)
        raise error

    said = {1: "/a/file: make room", 4: "try again"}[tries]
    with pytest.raises(HubError, match=said) as raised:
        client.call(client.Place("user/mine"), "downloading", fail)
    assert raised.value.__cause__ is error
    assert (len(calls), waits) == (tries, [0.5, 1.0, 2.0][: tries - 1])
    with pytest.raises(HubError, match=said):
        client.call(client.Place("user/mine"), "committing", fail, again=False)
    assert len(calls) == tries + 1
