"""Who may not write to a repository learns it before the comparison, and who may is asked nothing more."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from crayon_hf.errors import HubError
from crayon_hf.hub_access import rights
from crayon_hf.hub_access.client import Place
from tests.hub.hub_client import run_client
from tests.hub.local_hub import LocalHub
from tests.parity.report_samples import agreeing

COMPARED = 9
"""The exit code of a publication that begins its comparison."""

Publish = Callable[..., CompletedProcess[str]]


@pytest.fixture
def publish(hub: LocalHub, home: Path, gpt2_like: Path, tmp_path: Path) -> Publish:
    """`publish(repo, option, ..., token=...)`: the command, which ends where the comparison would begin."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "tokenizer.json").write_bytes(gpt2_like.read_bytes())

    def run(repo: str, *options: str, token: str | None = LocalHub.token) -> CompletedProcess[str]:
        code = f"""
            import sys
            from crayon_hf.cli import main
            from crayon_hf.parity.report import run
            run.make_report = lambda *arguments, **options: sys.exit({COMPARED})
            sys.exit(main(["publish", {repo!r}, "--from", {str(source)!r}, "--no-speed", *{options!r}]))
        """
        return run_client(hub, code, home, token=token)

    return run


READS = "you are logged in as user (token 'read token'), and the token only reads"
FOREIGN = "and stranger is another user, or an organization without user as a member"
REFUSED = {
    "a token that reads": (LocalHub.read_token, "user/there", READS, "/settings/tokens, and use it (`hf auth login`"),
    "a token that reads, new": (LocalHub.read_token, "user/new", READS, "make one that may write to user on http"),
    "a stranger's": (LocalHub.token, "stranger/there", FOREIGN, "open a pull request (--create-pr)"),
    "a stranger's, new": (LocalHub.token, "stranger/new", FOREIGN, "publish to user/new, or use the token of"),
    "a stranger's, private": (LocalHub.token, "stranger/private", FOREIGN, "publish to user/private"),
    "an organization's": (LocalHub.token, "club/there", "organization club is read", "ask an admin of club"),
    "an organization's, new": (LocalHub.token, "club/new", "organization club is read", "or publish to user/new"),
    "no access": (LocalHub.token, "vault/new", "organization vault is no_access", "ask an admin of vault"),
    "of another contributor": (LocalHub.token, "guild/there", "who may not write to this repository", "--create-pr"),
    "outside its scopes": (LocalHub.scoped_token, "user/there", "no write access to the repositories of user", "give"),
    "outside its scopes, new": (LocalHub.scoped_token, "user/new", "no write access to the repositories of user", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_who_may_not_write(name: str, hub: LocalHub, publish: Publish) -> None:
    token, repo, why, remedy = REFUSED[name]
    there = ("user/there", "stranger/there", "club/there", "guild/there")
    before = {each: hub.commit(each, {"README.md": b"text\n"}) for each in there}
    hub.create("stranger/private", private=True)
    done = publish(repo, token=token)
    assert (done.returncode, done.stdout) == (1, ""), done
    *progress, error = done.stderr.splitlines()
    assert progress == [f"crayon-hf: {repo}: looking"]  # neither compiled nor compared
    assert error.startswith(f"crayon-hf: error: {repo}: you are logged in as user (token ")
    assert why in error
    assert remedy in error
    assert ("403" in error) == (repo in before)  # what the Hub said
    assert error.endswith("Nothing was compared or uploaded")
    assert {each: hub.head(each).sha for each in before} == before
    assert not hub.exists(repo) or repo.endswith(("/there", "/private"))
    assert [request.path for request in hub.asked("POST")] == [
        f"/api/models/{repo}/preupload/main" for _ in range(repo in before)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("repo", ["user/there", "user/new", "team/there", "team/new", "guild/new"])
def test_who_may_write_is_compared(repo: str, hub: LocalHub, publish: Publish) -> None:
    for each in ("user/there", "team/there"):
        hub.commit(each, {"README.md": b"text\n"})
    done = publish(repo)
    assert done.returncode == COMPARED, done
    assert f"{repo}: looking" in done.stderr
    assert len(hub.asked("GET", "whoami")) == 1  # the Hub counts these strictly
    assert len(hub.asked("POST")) == repo.endswith("/there")
    assert hub.exists(repo) == repo.endswith("/there")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("repo", "token"),
    [
        ("team/new", LocalHub.token),
        ("team/there", LocalHub.token),
        ("guild/new", LocalHub.token),
        ("team/new", LocalHub.scoped_token),
        ("user/scoped", LocalHub.scoped_token),
    ],
)
def test_who_may_write_publishes(
    repo: str, token: str, hub: LocalHub, publish: Publish, gpt2_like: Path, tmp_path: Path
) -> None:
    for each in ("team/there", "user/scoped"):
        hub.commit(each, {"notes.txt": b"text\n"})
    digest = sha256(gpt2_like.read_bytes()).hexdigest()
    report = replace(agreeing(), speeds=(), target=replace(agreeing().target, source_digest=digest))
    (tmp_path / "parity.json").write_text(report.to_json(), encoding="utf-8")
    done = publish(repo, "--report", str(tmp_path / "parity.json"), "--json", token=token)
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["commit"] == hub.head(repo).sha
    assert "tokenizer.dat" in hub.files(repo)


@pytest.mark.slow
def test_a_new_branch_is_asked_for_on_the_main_one(hub: LocalHub, publish: Publish) -> None:
    for each in ("user/there", "stranger/there"):
        hub.commit(each, {"README.md": b"text\n"})
    assert publish("user/there", "--revision", "v1").returncode == COMPARED
    assert publish("stranger/there@v1").returncode == 1
    assert [request.path.rsplit("/", 1)[1] for request in hub.asked("POST")] == ["main", "main"]


@pytest.mark.slow
def test_a_pull_request_needs_no_right_to_write(hub: LocalHub, publish: Publish) -> None:
    hub.commit("stranger/there", {"README.md": b"text\n"})
    assert publish("stranger/there", "--create-pr").returncode == COMPARED
    done = publish("stranger/there", "--create-pr", token=LocalHub.read_token)
    assert done.returncode == 1
    assert READS in done.stderr
    assert [request.query for request in hub.asked("POST", "preupload")] == [{"create_pr": ["1"]}] * 2


@pytest.mark.slow
def test_a_dry_run_asks_for_no_rights(hub: LocalHub, publish: Publish, tmp_path: Path) -> None:
    hub.commit("stranger/there", {"README.md": b"text\n"})
    for repo in ("stranger/there", "stranger/new"):
        done = publish(repo, "--dry-run", str(tmp_path / "dry"), token=LocalHub.read_token)
        assert done.returncode == COMPARED, done
    assert hub.asked("POST") == hub.asked("GET", "whoami") == []


# -- what whoami says


def account(role: str | None = "write", **more: Any) -> dict[str, Any]:
    access = {} if role is None else {"accessToken": {"displayName": "laptop", "role": role}}
    return {"type": "user", "name": "user", "orgs": [], "auth": {"type": "access_token", **access}, **more}


def organization(name: str, role: str | None = None, *groups: str) -> dict[str, Any]:
    about = {"type": "org", "name": name, "resourceGroups": [{"name": "a group", "role": each} for each in groups]}
    return about | ({} if role is None else {"roleInOrg": role})


def scoped(*scopes: tuple[str, str, str]) -> dict[str, Any]:
    """A fine-grained token: kind, name and permission of each scope."""
    listed = [{"entity": {"type": kind, "name": name}, "permissions": [right]} for kind, name, right in scopes]
    access = {"displayName": "laptop", "role": "fineGrained", "fineGrained": {"scoped": listed}}
    return {"type": "access_token", "accessToken": access}


MAY = {
    "own": account(),
    "own, written otherwise": account(name="USER"),
    "of staff": account("god"),
    "by OAuth": account(None),
    "of an organization itself": account(type="org", orgs=None),
    "nothing is known": {},
}
MAY_IN_TEAM = {
    **{role: account(orgs=[organization("team", role)]) for role in ("write", "admin", "contributor", "a new role")},
    "written otherwise": account(orgs=[organization("other"), organization("Team", "write")]),
    "no role is known": account(orgs=[organization("team")]),
    "a group of repositories": account(orgs=[organization("team", "read", "read", "contributor")]),
    "no organizations are known": account(None, orgs=None),
    "scoped": account(orgs=[organization("team", "write")], auth=scoped(("org", "team", "repo.write"))),
    "scoped to contents": account(orgs=[organization("team")], auth=scoped(("org", "team", "repo.content.write"))),
    "scoped to a group": account(orgs=[organization("team")], auth=scoped(("resource-group", "x", "repo.write"))),
    "scoped, and no organization is listed": account(auth=scoped(("org", "team", "repo.write"))),
    "scopes are not known": account("fineGrained", orgs=[organization("team")]),
}
MAY_NOT_IN_TEAM = {
    "a token that reads": (account("read", orgs=[organization("team", "admin")]), "the token only reads"),
    "no member": (account(), "team is another user, or an organization without user as a member"),
    "a reader": (account(orgs=[organization("team", "read")]), "role in the organization team is read"),
    "a reader of all": (account(orgs=[organization("team", "no_access", "read")]), "team is no_access"),
    "scoped elsewhere": (account(auth=scoped(("user", "user", "repo.write"))), "no write access to the repositories"),
    "scoped to read": (account(auth=scoped(("org", "team", "repo.content.read"))), "no write access to the repos"),
}


@pytest.mark.parametrize(
    ("namespace", "who"),
    [
        *(pytest.param("user", who, id=name) for name, who in MAY.items()),
        *(pytest.param("team", who, id=f"team, {name}") for name, who in MAY_IN_TEAM.items()),
    ],
)
def test_what_whoami_does_not_exclude_is_left_to_the_hub(namespace: str, who: dict[str, Any]) -> None:
    rights.check(Place(f"{namespace}/new"), who, None, is_new=True, create_pr=False)


@pytest.mark.parametrize("name", MAY_NOT_IN_TEAM)
def test_what_whoami_excludes(name: str) -> None:
    who, why = MAY_NOT_IN_TEAM[name]
    with pytest.raises(HubError, match=rf"^team/new: you are logged in as user \(token 'laptop'\), .*{why}"):
        rights.check(Place("team/new"), who, None, is_new=True, create_pr=False)
