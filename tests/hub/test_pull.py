"""`pull`, by the real client over a real socket, each time in a process of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import crayon_hf
from crayon_hf import VocabularyError
from crayon_hf.hub import pulling
from crayon_hf.hub_access import client
from crayon_hf.util.extras import how_to_install
from tests.hub import hub_faults
from tests.hub.hub_client import run_client
from tests.hub.hub_tokenizers import pattern_of_tiktoken, repository, unsound, with_token
from tests.hub.local_hub import LocalHub
from tests.support.versions import before_1

TEXT = "The quick brown fox; it's what they've said. Größe, 敏捷的 🙂 a <new> b"

pytest.importorskip("huggingface_hub")


class Client:
    """A user of the local Hub, with a home of their own."""

    def __init__(self, hub: LocalHub, home: Path) -> None:
        self.hub, self.home = hub, home
        self.profiles = home / ".cache" / "xerv" / "crayon" / "profiles"

    def run(self, *arguments: str, **options: Any) -> Any:
        """``crayon-hf`` with these arguments; options as for `run_client`."""
        return run_client(self.hub, ["-m", "crayon_hf", *arguments], self.home, **options)

    def pull(self, *arguments: str, **options: Any) -> dict[str, Any]:
        """What a pull that succeeds says."""
        done = self.run("pull", "--json", *arguments, check=True, **options)
        facts: dict[str, Any] = json.loads(done.stdout)
        assert ("compiled here: " in done.stderr) == (facts["reason"] is not None), done.stderr
        return facts

    def fails(self, *arguments: str, **options: Any) -> str:
        """What a pull that fails says, on one line; the directory of profiles stays as it was."""
        before = self.seen()
        done = self.run("pull", *arguments, **options)
        assert done.returncode == 1, done
        assert done.stdout == ""
        line: str = done.stderr.splitlines()[-1]
        assert line.startswith("crayon-hf: error: ")
        assert "Traceback" not in done.stderr
        assert self.seen() == before
        return line

    def script(self, code: str, **options: Any) -> Any:
        """What a program prints as JSON. It has `crayon_hf` and `outcome`."""
        return json.loads(run_client(self.hub, SCRIPT + code, self.home, check=True, **options).stdout)

    def seen(self) -> dict[str, int]:
        """The files of the profiles, wherever a name leads to."""
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


# -- what it does


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
    return [pulled.revision, pulled.commit, pulled.origin, known is not None, pulled.changed]
print(json.dumps([
    pull("user/mine@{first}"), pull("user/mine"), pull("user/mine", "next"), pull("user/mine@{first}"),
    pull("user/mine@{first}"), pull("user/mine@next", name="other"),
]))
"""
    )
    next_commit = hub.head("user/mine", "next").sha
    assert said == [
        [first, first, "repository", False, True],
        ["main", second, "compiled", True, True],
        ["next", next_commit, "repository", True, True],
        [first, first, "repository", False, True],
        [first, first, "repository", False, False],
        ["next", next_commit, "repository", True, True],
    ]


@pytest.mark.slow
def test_cartridges_that_are_not_used(hub: LocalHub, user: Client, gpt2_like: Path, llama3_like: Path) -> None:
    """Each is compiled here instead, with the ids of the repository's tokenizer.json, and says why."""
    source = gpt2_like.read_bytes()
    bad = unsound(source, llama3_like.read_bytes())
    names = {title: title.replace(" ", "-") for title in bad}
    hub.commit("user/none", {"tokenizer.json": source})
    for title, (cartridge, _) in bad.items():
        hub.commit(f"user/{names[title]}", {"tokenizer.json": source, "tokenizer.dat": cartridge})
    rust = pattern_of_tiktoken(source)
    hub.commit("user/rust", rust)
    repos = ["user/none", *(f"user/{name}" for name in names.values()), "user/rust"]
    said = dict(zip(repos, user.script(f"print(json.dumps([outcome(repo) for repo in {repos}]))"), strict=True))
    assert said["user/none"] == ["compiled", "the repository has no cartridge", ids_of(source)]
    for title, (_, reason) in bad.items():
        origin, why, ids = said[f"user/{names[title]}"]
        assert (origin, ids) == ("compiled", ids_of(source)), title
        assert why.startswith("the repository's cartridge is not used: "), why
        assert reason in why
    origin, why, ids = said["user/rust"]
    assert (origin, ids) == ("compiled", ids_of(rust["tokenizer.json"]))
    assert "regular expressions of tiktoken" in why
    done = user.run("pull", "user/lying-about-its-merges", check=True)
    assert done.stderr.startswith("crayon-hf: compiled here: the repository's cartridge is not used: ")


def test_files_that_are_too_large(tmp_path: Path, gpt2_like: Path) -> None:
    """What the client has fetched; the digest of a terabyte would take it an hour."""
    place = client.Place("user/mine", None)
    listing = client.Listing("0" * 40, {"tokenizer.json": None, "tokenizer.dat": None}, False)
    source, cartridge = tmp_path / "tokenizer.json", tmp_path / "tokenizer.dat"
    source.write_bytes(gpt2_like.read_bytes())
    cartridge.touch()
    os.truncate(cartridge, 1 << 40)
    content = pulling._content(place, listing, str(tmp_path), [source.name, cartridge.name])
    assert (content.source, content.origin) == (source.read_bytes(), "compiled")
    assert content.reason is not None
    assert f"not used: {cartridge}: too large for a cartridge: {1 << 40} bytes" in content.reason
    os.truncate(source, 1 << 40)
    with pytest.raises(VocabularyError, match=f"user/mine: {source} has {1 << 40} bytes, too many"):
        pulling._content(place, listing, str(tmp_path), [source.name, cartridge.name])


@before_1("class that reads vocab.json and merges.txt")
def test_other_vocabularies(hub: LocalHub, user: Client, gpt2_like: Path, wordpiece_like: Path) -> None:
    model = json.loads(gpt2_like.read_bytes())["model"]
    merges = "\n".join(pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]).encode()
    vocab = json.dumps(model["vocab"]).encode()
    hub.commit("user/slow", {"vocab.json": vocab, "merges.txt": merges, "config.json": b'{"model_type": "gpt2"}'})
    words = json.loads(wordpiece_like.read_bytes())["model"]["vocab"]
    lines = "\n".join([*sorted(words, key=words.__getitem__), "[PAD]", "[MASK]"]).encode()
    hub.commit("user/bert", {"vocab.txt": lines, "tokenizer_config.json": b'{"do_lower_case": true}'})
    hub.commit("user/half", {"vocab.json": vocab})
    hub.commit("user/two", {"a.gguf": b"GGUF", "b.gguf": b"GGUF"})
    hub.commit("user/empty", {"README.md": b"# Nothing"})
    hub.commit("user/alone", {"tokenizer.dat": repository(gpt2_like)["tokenizer.dat"]})
    hub.commit("user/wrong", {"tokenizer.json": b"[1, 2"})
    foreign = {"type": "Split", "pattern": {"Regex": r"(?<x>a)\k<x>"}, "behavior": "Isolated", "invert": False}
    document = json.loads(gpt2_like.read_bytes()) | {"pre_tokenizer": foreign}
    hub.commit("user/foreign", {"tokenizer.json": json.dumps(document).encode()})
    repos = ["slow", "bert", "half", "two", "empty", "alone", "wrong", "foreign"]
    said = user.script(f"print(json.dumps([outcome('user/' + repo) for repo in {repos}]))")
    slow, bert, half, two, empty, alone, wrong, foreign_said = said
    assert slow[:2] == ["compiled", "the repository has no tokenizer.json: its vocab.json was converted"]
    assert slow[2] == ids_of((user.profiles / "slow.json").read_bytes())
    assert slow[2] == tokenizers.Tokenizer.from_file(str(gpt2_like)).encode(TEXT).ids
    assert bert[:2] == ["compiled", "the repository has no tokenizer.json: its vocab.txt was converted"]
    assert bert[2] == ids_of((user.profiles / "bert.json").read_bytes())
    for (kind, message, _), (wanted_kind, wanted) in zip(
        (half, two, empty, alone, wrong, foreign_said),
        (
            ("VocabularyError", "merges.txt is not beside it"),
            ("VocabularyError", "user/two has 2 files *.gguf"),
            ("HubError", "user/empty: there is no tokenizer.json and no other vocabulary"),
            ("HubError", "a cartridge alone cannot be checked"),
            ("VocabularyError", "user/wrong: "),
            ("UnsupportedError", "user/foreign: cannot be a profile: the engine does not support it: "),
        ),
        strict=True,
    ):
        assert kind == wanted_kind, message
        assert wanted in message
    assert sorted(path.name for path in user.profiles.glob("*.dat")) == ["bert.dat", "slow.dat"]


@pytest.mark.slow
def test_names_and_directories(hub: LocalHub, user: Client, gpt2_like: Path, tmp_path: Path) -> None:
    for repo in ("user/mine", "stranger/mine", "user/lite"):
        hub.commit(repo, repository(gpt2_like))
    user.pull("user/mine")
    asked = len(hub.requests)
    line = user.fails("stranger/mine")
    assert "'mine'" in line
    assert "was pulled from user/mine" in line
    other = str(tmp_path / "other")
    wrong, *names, forced, small, elsewhere = user.script(
        f"""
print(json.dumps([
    outcome("user/lite", force=True), *(outcome("user/mine", name=name) for name in ("../x", ".x", "a/b", "")),
    outcome("stranger/mine", force=True), outcome("user/lite", name="small"),
    str(crayon_hf.pull("user/lite", directory={other!r}).cartridge),
]))
"""
    )
    assert wrong[0] == "HubError"
    assert "lite.dat comes earlier in the search path" in wrong[1]
    for kind, message, _ in names:
        assert kind == "ValueError"
        assert "is not a profile name" in message
    assert (forced[0], small[0]) == ("repository", "repository")
    assert elsewhere == str(tmp_path / "other" / "lite.dat")
    refused = [request for request in hub.requests[asked:] if "user/mine" in request.target]
    assert refused == []  # before anything is asked for
    assert sorted(path.name for path in user.profiles.glob("*.dat")) == ["mine.dat", "small.dat"]


def test_a_directory_without_a_name(hub: LocalHub, user: Client, gpt2_like: Path) -> None:
    hub.commit("user/mine", repository(gpt2_like))
    done = user.run("pull", "user/mine", "--directory", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "crayon-hf: error: --directory: the name of the directory is empty\n"
    with pytest.raises(ValueError, match="the name of the directory is empty"):
        crayon_hf.pull("user/mine", directory="")
    assert hub.requests == []
    assert not (user.home / "mine.dat").exists()


@pytest.mark.parametrize("name", ["a\nb", "mine ", "n" * 300], ids=["newline", "space", "long"])
def test_a_name_that_is_refused(hub: LocalHub, user: Client, name: str) -> None:
    assert " is not a profile name: it " in user.fails("user/mine", "--name", name)
    assert hub.requests == []


@pytest.mark.parametrize(
    ("repo", "revision"),
    [
        ("", None),
        ("a/b/c", None),
        ("a b/c", None),
        ("user/mine@", None),
        ("user/mine@main", "main"),
        ("user/mine@a b", None),
        ("user/mine", ""),
        ("user/mine@--x", None),
        ("../mine", None),
        ("user/mi..ne", None),
        ("user/mine@a:b", None),
    ],
)
def test_wrong_names(repo: str, revision: str | None) -> None:
    with pytest.raises(ValueError, match=r"name of a repository|revision"):
        client.parse(repo, revision)


def test_right_names() -> None:
    assert client.parse("user/mine") == ("user/mine", None)
    assert client.parse("gpt2@607a30d") == ("gpt2", "607a30d")
    assert client.parse("user/mine@refs/pr/1") == ("user/mine", "refs/pr/1")
    assert client.parse("user/mine", "v1.0") == ("user/mine", "v1.0")
    assert str(client.parse("user/mine@v1")) == "user/mine@v1"
    with pytest.raises(TypeError, match="expected str"):
        client.parse(Path("user/mine"))  # type: ignore[arg-type]


# -- what can go wrong


@pytest.mark.slow
def test_what_is_not_there(hub: LocalHub, user: Client, gpt2_like: Path) -> None:
    hub.commit("user/mine", repository(gpt2_like))
    hub.create("stranger/hidden", private=True)
    hub.create("stranger/gated", gated="manual")
    hub.commit("stranger/gated", repository(gpt2_like))
    line = user.fails("user/nothing")
    assert "user/nothing: there is no such repository, or it is private" in line
    assert "hf auth login" in line
    said = user.script(
        """
print(json.dumps([
    outcome("user/mine@nope"), outcome("stranger/hidden"), outcome("stranger/hidden", token=False),
    outcome("user/mine", token="hf_wrong"), outcome("stranger/gated"),
]))
"""
    )
    for (kind, message, _), wanted in zip(
        said,
        (
            "user/mine@nope: the repository has no revision 'nope'",
            "stranger/hidden: there is no such repository, or it is private",
            "the Hub wants a token",
            "the Hub wants a token",
            "stranger/gated: access has to be asked for",
        ),
        strict=True,
    ):
        assert kind == "HubError"
        assert wanted in message
    line = user.fails("user/other", offline=True)
    assert "user/other: it is not in the cache of huggingface_hub, and HF_HUB_OFFLINE is set" in line
    hub.create("user/hidden", private=True)
    hub.commit("user/hidden", repository(gpt2_like))
    assert user.pull("user/hidden", "--token", hub.read_token, token=None)["origin"] == "repository"


@pytest.mark.slow
@pytest.mark.parametrize("file", ["tokenizer.dat", "tokenizer.json"])
def test_damaged_on_the_way(hub: LocalHub, user: Client, gpt2_like: Path, file: str) -> None:
    """The client looks at sizes alone: a byte that is another one would stay in its cache for good."""
    hub.commit("user/mine", repository(gpt2_like))
    hub.fail(hub_faults.alter_body(0.7), method="GET", path=file, times=1)
    line = user.fails("user/mine")
    assert f"user/mine: {file} was damaged on the way: its digest is " in line
    facts = user.pull("user/mine")
    assert (facts["origin"], facts["changed"]) == ("repository", True)


def test_what_passes_by_itself(hub: LocalHub, user: Client, gpt2_like: Path) -> None:
    hub.commit("user/mine", repository(gpt2_like))
    faults = (
        (hub_faults.status(503), "/api/models/user/mine$"),
        (hub_faults.status(429, retry_after=1), "/api/models/user/mine"),
        (hub_faults.drop_answer(), "/tree/"),
        (hub_faults.drop_body(0.5), "tokenizer.dat"),
    )
    for fault, path in faults:
        hub.fail(fault, path=path, times=1)
    facts = user.pull("user/mine")
    assert (facts["origin"], facts["changed"]) == ("repository", True)


@pytest.mark.slow
def test_what_does_not_pass(hub: LocalHub, user: Client, gpt2_like: Path) -> None:
    hub.commit("user/mine", repository(gpt2_like))
    for fault, message in (
        (hub_faults.status(503), "user/mine: reading: the Hub has a problem of its own: try again later: 503"),
        (hub_faults.status(429, retry_after=600), "too many requests: wait a while, and try again (it asks for 600"),
        (hub_faults.drop_answer(), "user/mine: reading: the Hub cannot be reached: check the connection"),
        (hub_faults.status(403), "the token may not do that"),
    ):
        hub.fail(fault, times=100)
        assert message in user.fails("user/mine")
        hub.heal()
    assert user.pull("user/mine")["changed"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["pull", "publish"])
@pytest.mark.parametrize("package", ["huggingface_hub", "yaml", "filelock"])
def test_without_a_package(user: Client, package: str, command: str) -> None:
    code = f"""
        import sys
        sys.modules[{package!r}] = None
        from crayon_hf.cli import main
        sys.exit(main([{command!r}, "user/mine"]))
    """
    done = run_client(user.hub, code, user.home)
    assert (done.returncode, done.stdout) == (1, "")
    wanted = f"the Hub needs {package}, which is not installed: {how_to_install('hub')}"
    assert done.stderr == f"crayon-hf: error: {wanted}\n"
    assert user.hub.requests == []


def test_a_package_that_is_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "yaml.py").write_text("from os import what_there_is_not")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "yaml", raising=False)
    with pytest.raises(ImportError, match=r"cannot be imported \(.*what_there_is_not.*\): .* '\.\[hub\]' "):
        client.library()


@pytest.mark.slow
def test_warnings_of_the_client(hub: LocalHub, user: Client, gpt2_like: Path) -> None:
    """It warns of each of its own tries: not in a command, and afterwards as before."""
    hub.commit("user/mine", repository(gpt2_like))
    hub.fail(hub_faults.status(503), method="HEAD", times=1000)
    code = """
        import sys
        from huggingface_hub.utils import logging
        from crayon_hf.cli import main
        from crayon_hf.hub import pulling
        meanwhile = []
        def seen(*arguments, **options):
            meanwhile.append(logging.get_verbosity())
            return pull(*arguments, **options)
        pull, pulling.pull = pulling.pull, seen
        before = logging.get_verbosity()
        code = main(["pull", "user/mine"])
        print(code, before, *meanwhile, logging.get_verbosity())
        logging.set_verbosity_info()  # as HF_HUB_VERBOSITY does
        main(["pull", "a/b/c"])
        print(meanwhile[-1], logging.get_verbosity())
    """
    done = run_client(hub, code, user.home, check=True)
    assert done.stdout.split() == ["1", "30", "40", "30", "20", "20"]
    lines = done.stderr.splitlines()
    assert [line.split(": ")[:3] for line in lines] == [
        ["crayon-hf", "error", "user/mine"],
        ["crayon-hf", "error", "'a/b/c' is not the name of a repository, as user/name is"],
    ]


@pytest.mark.slow
def test_two_pulls_at_once(hub: LocalHub, user: Client, gpt2_like: Path, start_client: Callable[..., Any]) -> None:
    files = repository(gpt2_like)
    hub.commit("user/mine", files)
    hub.fail(hub_faults.slow_body(0.5), path="tokenizer.dat", times=4)
    arguments = ["-m", "crayon_hf", "pull", "user/mine"]
    both = [start_client(hub, arguments, user.home) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert "profile mine" in out
    assert (user.profiles / "mine.dat").read_bytes() == files["tokenizer.dat"]
    assert not user.pull("user/mine")["changed"]
    assert sorted(os.listdir(user.profiles)) == [".pulled", "mine.dat", "mine.json"]
