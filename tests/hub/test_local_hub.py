"""The local Hub as the real client sees it: what goes up comes down the same, and errors are the service's."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.hub.hub_faults import drop_body, stall_body
from tests.hub.local_hub import LocalHub
from tests.support.versions import HAS_HUB_1, since_hub_1

Client = Callable[..., Any]
BINARY = bytes(range(256)) * 40
LARGE = random.Random(7).randbytes(6 << 20).hex().encode()  # 12 MiB of text: in LFS for its size alone

# What the client calls a file that is not there, a stranger, and nobody.
MISSING = "RemoteEntryNotFoundError" if HAS_HUB_1 else "EntryNotFoundError"
REFUSED = "HfHubHTTPError" if HAS_HUB_1 else "HTTPError"
NO_TOKEN = "ValueError" if HAS_HUB_1 else "LocalTokenNotFoundError"

PREAMBLE = """
import json, sys
from pathlib import Path
import huggingface_hub as h
from huggingface_hub import CommitOperationAdd as Add, CommitOperationDelete as Delete
api = h.HfApi()
said = {}

def fails(action, *arguments, **named):
    try:
        action(*arguments, **named)
    except Exception as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        return [type(error).__name__, status, str(error)]
    return None
"""


def ask(run: Client, hub: LocalHub, code: str, home: Path, **environment: Any) -> Any:
    """What a client that ends well puts into `said`."""
    done = run(hub, PREAMBLE + code + "\nprint(json.dumps(said))\n", home, check=True, **environment)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_what_goes_up_comes_down_elsewhere(hub: LocalHub, tmp_path: Path, run_client: Client) -> None:
    files = {
        "tokenizer.json": '{"ü": 1}'.encode() * 50,
        "tokenizer.dat": BINARY,
        "deep/er/large.txt": LARGE,
        "empty.txt": b"",
        "a name+%20 with ü.txt": b"odd",
    }
    for path, data in files.items():
        target = tmp_path / "publisher" / "folder" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    up = """
said["name"] = api.whoami()["name"]
said["url"] = str(api.create_repo("user/repo"))
said["again"] = str(api.create_repo("user/repo", exist_ok=True))
said["refused"] = fails(api.create_repo, "user/repo")
said["commit"] = api.upload_folder(repo_id="user/repo", folder_path="folder").oid
said["no change"] = api.upload_folder(repo_id="user/repo", folder_path="folder").oid
"""
    said = ask(run_client, hub, up, tmp_path / "publisher")
    assert said["name"] == "user"
    assert said["url"] == said["again"] == f"{hub.url}/user/repo"
    assert said["refused"][:2] == ["HfHubHTTPError", 409]
    assert said["commit"] == said["no change"] == hub.head("user/repo").sha
    assert sorted(hub.files("user/repo")) == sorted(files)
    in_lfs = {path for path, entry in hub.head("user/repo").files.items() if entry.lfs}
    assert in_lfs == {"tokenizer.dat", "deep/er/large.txt"}
    assert len(hub.asked("PUT")) == 2

    down = """
said["snapshot"] = h.snapshot_download("user/repo")
said["again"] = h.snapshot_download("user/repo")
said["one"] = h.hf_hub_download("user/repo", "tokenizer.dat")
"""
    said = ask(run_client, hub, down, tmp_path / "reader", token=None)
    assert said["snapshot"] == said["again"]
    assert Path(said["snapshot"]).name == hub.head("user/repo").sha
    for path, data in files.items():
        assert (Path(said["snapshot"]) / path).read_bytes() == data, path
    assert Path(said["one"]).read_bytes() == BINARY
    at_storage = [request for request in hub.requests if request.server == "storage"]
    assert [request.method for request in at_storage] == ["PUT", "PUT", "GET", "GET"]
    assert not any("authorization" in request.headers for request in at_storage)


def test_commits_branches_and_pull_requests(hub: LocalHub, home: Path, run_client: Client) -> None:
    code = """
api.create_repo("user/repo", private=True)
first = api.create_commit(
    "user/repo", [Add("a/one.txt", b"1"), Add("a/two.txt", b"2"), Add("b.txt", b"3")], commit_message="first"
).oid
api.create_branch("user/repo", branch="feature/x")
api.create_tag("user/repo", tag="v1")
second = api.create_commit(
    "user/repo", [Delete("a/", is_folder=True), Add("b.txt", b"4")], commit_message="second", parent_commit=first
).oid
said["stale"] = fails(
    api.create_commit, "user/repo", [Add("c", b"5")], commit_message="third", parent_commit=first
)
said["missing"] = fails(api.create_commit, "user/repo", [Delete("nothing")], commit_message="fourth")
said["branch"] = api.create_commit("user/repo", [Add("d", b"6")], commit_message="m", revision="feature/x").oid
proposed = api.create_commit("user/repo", [Add("e", b"7")], commit_message="Please", create_pr=True)
said["proposed"] = [proposed.pr_revision, proposed.oid]
refs = api.list_repo_refs("user/repo", include_pull_requests=True)
said["refs"] = {r.ref: r.target_commit for r in [*refs.branches, *refs.tags, *refs.pull_requests]}
said["discussions"] = [(d.num, d.title) for d in api.get_repo_discussions("user/repo")]
said["titles"] = [c.title for c in api.list_repo_commits("user/repo")]
said["commits"] = [first, second]
said["paths"] = [p.path for p in api.get_paths_info("user/repo", ["a", "a/one.txt", "no"], revision="v1")]
said["exists"] = [api.branch_exists("user/repo", "feature/x") if hasattr(api, "branch_exists") else True,
                  api.revision_exists("user/repo", "nope"), api.file_exists("user/repo", "b.txt"),
                  api.file_exists("user/repo", "a/one.txt"), api.repo_exists("user/none")]
api.delete_branch("user/repo", branch="feature/x")
info = api.model_info("user/repo", revision=first[:7], files_metadata=True)
said["info"] = [info.sha, info.private, [s.rfilename for s in info.siblings]]
api.delete_repo("user/repo")
said["gone"] = fails(api.model_info, "user/repo")
"""
    said = ask(run_client, hub, code, home)
    first, second = said["commits"]
    assert said["stale"][:2] == ["HfHubHTTPError", 412]
    assert "A commit has happened since" in said["stale"][2]
    assert said["missing"][:2] == [MISSING, 404]
    assert said["refs"] == {
        "refs/heads/main": second,
        "refs/heads/feature/x": said["branch"],
        "refs/tags/v1": first,
        "refs/pr/1": said["proposed"][1],
    }
    assert said["proposed"][0] == "refs/pr/1"
    assert said["discussions"] == [[1, "Please"]]
    assert said["titles"] == ["second", "first", "initial commit"]
    assert said["paths"] == ["a", "a/one.txt"]
    assert said["exists"] == [True, False, True, False, False]
    assert said["info"] == [first, True, [".gitattributes", "a/one.txt", "a/two.txt", "b.txt"]]
    assert said["gone"][:2] == ["RepositoryNotFoundError", 404]
    assert not hub.exists("user/repo")


def test_who_may_do_what(hub: LocalHub, tmp_path: Path, run_client: Client) -> None:
    hub.create("user/private", private=True)
    hub.create("user/gated", gated="manual")
    hub.create("user/known", gated="auto", members=("stranger",))
    for repo in ("user/private", "user/gated", "user/known", "user/public"):
        hub.commit(repo, {"file.txt": repo.encode()})
    code = """
for token in (None, "hf_NoSuchToken", "hf_LocalHubReads", "hf_LocalHubStranger", "hf_LocalHubWrites"):
    api = h.HfApi(token=token or False)
    found = said[str(token)] = {}
    for repo in ("private", "gated", "known", "public", "none"):
        found[repo] = fails(api.hf_hub_download, f"user/{repo}", "file.txt", cache_dir=str(token))
    found["info"] = fails(api.model_info, "user/gated")
    found["revision"] = fails(api.hf_hub_download, "user/public", "file.txt", revision="v9")
    found["entry"] = fails(api.hf_hub_download, "user/public", "other.txt")
    found["write"] = fails(api.create_commit, "user/public", [Add("x", b"x")], commit_message="m")
    found["create"] = fails(api.create_repo, "user/new")
    found["who"] = fails(api.whoami)
"""
    said = ask(run_client, hub, code, tmp_path / "home", token=None)

    def refused(token: str | None) -> dict[str, Any]:
        return {name: found and found[:2] for name, found in said[str(token)].items()}

    absent = {
        "revision": ["RevisionNotFoundError", 404],
        "entry": [MISSING, 404],
    }
    nobody = ["HfHubHTTPError", 401]
    denied = ["HfHubHTTPError", 403]
    unseen = ["RepositoryNotFoundError", 404]
    assert refused(None) == {
        **absent,
        "private": nobody,
        "gated": ["GatedRepoError", 401],
        "known": ["GatedRepoError", 401],
        "public": None,
        "none": nobody,
        "info": None,
        "write": nobody,
        "create": nobody,
        "who": [NO_TOKEN, None],
    }
    everything = [*absent, "private", "gated", "known", "public", "none", "info", "write", "create"]
    assert refused("hf_NoSuchToken") == dict.fromkeys(everything, nobody) | {"who": [REFUSED, 401]}
    rights = {"private": None, "gated": None, "known": None, "public": None, "info": None, "who": None, "none": unseen}
    assert refused(hub.read_token) == {**absent, **rights, "write": denied, "create": denied}
    strange = {"private": unseen, "gated": ["GatedRepoError", 403]}
    assert refused(hub.other_token) == {**absent, **rights, **strange, "write": denied, "create": denied}
    assert refused(hub.token) == {**absent, **rights, "write": None, "create": None}


def test_organizations_and_their_members(hub: LocalHub, home: Path, run_client: Client) -> None:
    for repo in ("guild/anothers", "club/there"):
        hub.create(repo, private=True)
    code = """
for token in ("hf_LocalHubWrites", "hf_LocalHubFineGrained"):
    api = h.HfApi(token=token)
    who, found = api.whoami(), {}
    for namespace in ("team", "guild", "club", "vault", "user"):
        found[namespace] = fails(api.create_repo, f"{namespace}/{token}")
    for repo in (f"team/{token}", f"guild/{token}", "guild/anothers", "club/there"):
        found[repo.replace(token, "own")] = fails(api.create_commit, repo, [Add("x", b"x")], commit_message="m")
    found["see"] = fails(api.model_info, "club/there")
    said[token] = [{each["name"]: each["roleInOrg"] for each in who["orgs"]}, who["auth"]["accessToken"], found]
"""
    said = ask(run_client, hub, code, home)
    organizations, access, found = said[hub.token]
    assert organizations == dict(hub.organizations)
    assert access["role"] == "write"
    refused = {name: error[2] for name, error in found.items() if error is not None}
    assert refused.keys() == {"club", "vault", "guild/anothers", "club/there"}
    assert 'rights to create a model under the namespace "club"' in refused["club"]
    assert "pass `create_pr=1` as a query parameter to create a Pull Request" in refused["club/there"]
    _, access, found = said[hub.scoped_token]
    assert {scope["entity"]["type"]: scope["permissions"] for scope in access["fineGrained"]["scoped"]} == {
        "org": ["repo.content.read", "repo.write"],
        "model": ["repo.write"],
        "user": ["job.write"],
    }
    assert {name for name, error in found.items() if error is None} == {"team", "team/own", "see"}


def test_a_tree_of_several_pages(tmp_path: Path, run_client: Client) -> None:
    with LocalHub(tmp_path / "hub", page=4) as hub:
        names = [f"folder/{n:02}.txt" for n in range(11)]
        hub.commit("user/repo", {name: name.encode() for name in names})
        code = """
said["flat"] = [e.path for e in api.list_repo_tree("user/repo", "folder", expand=True)]
said["all"] = [e.path for e in api.list_repo_tree("user/repo", recursive=True)]
said["files"] = api.list_repo_files("user/repo")
said["none"] = fails(lambda: list(api.list_repo_tree("user/repo", "nowhere")))
"""
        said = ask(run_client, hub, code, tmp_path / "home")
        assert said["flat"] == names
        assert said["all"] == [".gitattributes", "folder", *names]
        assert said["files"] == [".gitattributes", *names]
        assert said["none"][:2] == [MISSING, 404]
        assert len(hub.asked("GET", "/tree/main")) == 3 + 4 + 4 + 1


def test_a_card_is_checked_before_it_goes_up(hub: LocalHub, home: Path, run_client: Client) -> None:
    code = """
def card(front):
    text = f"---\\n{front}\\n---\\n# Title\\n"
    return fails(api.create_commit, "user/repo", [Add("README.md", text.encode())], commit_message="m")

api.create_repo("user/repo")
good = "license: mit\\nlibrary_name: crayon-hf\\ntags: [a, b]\\nbase_model: user/other\\nlanguage: [en]"
said["good"] = card(good)
for bad in ("license: my own", "tags: one", "library_name: [a]", "base_model: 'not a repo!'", "a: [", "just text"):
    said[bad] = card(bad)
info = api.model_info("user/repo")
said["info"] = [info.library_name, info.card_data.to_dict(), info.tags]
"""
    said = ask(run_client, hub, code, home)
    assert said.pop("good") is None
    library, card, tags = said.pop("info")
    assert library == "crayon-hf"
    assert card["license"] == "mit"
    assert tags == ["crayon-hf", "a", "b", "license:mit", "base_model:user/other"]
    assert [found[0] for found in said.values()] == ["ValueError"] * 6
    assert len(hub.asked("POST", "/commit/")) == 1


@since_hub_1("goes on at any byte, and gives up")
def test_a_dropped_download_goes_on_where_it_was(hub: LocalHub, home: Path, run_client: Client) -> None:
    """The client keeps what it has in steps of 10 MiB; less than that it asks for again."""
    hub.commit("user/repo", {"large.bin": LARGE, "less.txt": LARGE[: 1 << 20]})
    hub.fail(drop_body(0.9), path="large.bin", times=2)
    hub.fail(drop_body(0.9), path="less.txt", times=2)
    code = """
said["bin"], said["txt"] = (h.hf_hub_download("user/repo", name) for name in ("large.bin", "less.txt"))
"""
    said = ask(run_client, hub, code, home)
    assert Path(said["bin"]).read_bytes() == LARGE
    assert Path(said["txt"]).read_bytes() == LARGE[: 1 << 20]
    rest = "bytes=10485760-"
    assert [r.headers.get("range") for r in hub.asked("GET", "large.bin")] == [None, rest, rest]
    assert [r.status for r in hub.asked("GET", "large.bin")] == [200, 206, 206]
    assert [r.headers.get("range") for r in hub.asked("GET", "less.txt")] == [None, None, None]


@pytest.mark.slow
def test_offline_the_cache_is_all_there_is(hub: LocalHub, tmp_path: Path, run_client: Client) -> None:
    hub.commit("user/repo", {"file.txt": b"kept"})
    code = """
said["failed"] = fails(h.snapshot_download, "user/repo")
if not said["failed"]:
    said["text"] = (Path(h.snapshot_download("user/repo")) / "file.txt").read_text()
"""
    assert ask(run_client, hub, code, tmp_path / "one")["text"] == "kept"
    asked = len(hub.requests)
    assert ask(run_client, hub, code, tmp_path / "one", offline=True)["text"] == "kept"
    assert ask(run_client, hub, code, tmp_path / "two", offline=True)["failed"][0] == "LocalEntryNotFoundError"
    assert len(hub.requests) == asked


def test_two_clients_at_once(hub: LocalHub, home: Path, start_client: Client) -> None:
    hub.commit("user/repo", {"large.bin": LARGE})
    reached = hub.fail(stall_body(0.5, 0.5), path="large").reached
    code = 'import huggingface_hub as h; print(h.hf_hub_download("user/repo", "large.bin"))'
    clients = [start_client(hub, code, home)]
    assert reached.wait(60)
    clients.append(start_client(hub, code, home))
    for client in clients:
        out, err = client.communicate(timeout=60)
        assert client.returncode == 0, err
        assert Path(out.strip()).read_bytes() == LARGE


@pytest.mark.slow
def test_transformers_loads_from_it(hub: LocalHub, home: Path, run_client: Client, gpt2_like: Path) -> None:
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 77}
    files = {"tokenizer.json": gpt2_like.read_bytes(), "tokenizer_config.json": json.dumps(config).encode()}
    template = b"{{ messages[0].content }}!"
    hub.commit("user/repo", {**files, "additional_chat_templates/other.jinja": template})
    code = """
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("user/repo")
said = [tokenizer.model_max_length, tokenizer("The quick brown fox").input_ids]
said.append(tokenizer.apply_chat_template([{"role": "user", "content": "x"}], chat_template="other", tokenize=False))
"""
    length, ids, chat = ask(run_client, hub, code, home)
    assert (length, chat) == (77, "x!")
    assert ids == Tokenizer.from_file(str(gpt2_like)).encode("The quick brown fox").ids
