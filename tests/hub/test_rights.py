"""Without write access to a repository, publishing fails before the comparison. With write access it makes no extra
requests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from crayon_hf.errors import HubError
from crayon_hf.hub_access import rights
from crayon_hf.hub_access.client import Place
from tests.hub.hub_client import failure, run_client
from tests.hub.local_hub import LocalHub

COMPARED = 9
"""The exit code of a publication that reaches its comparison."""

Publish = Callable[..., CompletedProcess[str]]


@pytest.fixture
def publish(hub: LocalHub, home: Path, gpt2_like: Path, tmp_path: Path) -> Publish:
    """A function `publish(repo, option, ..., token=...)` that runs `crayon-hf publish` until its comparison begins."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "tokenizer.json").write_bytes(gpt2_like.read_bytes())
    for each in ("user/there", "stranger/there"):
        hub.commit(each, {"README.md": b"text\n"})

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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("token", "repo", "options", "why"),
    [
        (LocalHub.read_token, "user/there", [], "the token only reads"),
        (LocalHub.read_token, "user/new", [], "the token only reads"),
        (LocalHub.token, "stranger/there@v1", [], "another user"),
        (LocalHub.read_token, "stranger/there", ["--create-pr"], "the token only reads"),
    ],
)
def test_who_may_not_write(
    hub: LocalHub, publish: Publish, token: str, repo: str, options: list[str], why: str
) -> None:
    done = publish(repo, *options, token=token)
    assert why in failure(done)
    assert done.stderr.splitlines()[:-1] == [f"crayon-hf: {repo}: looking"]  # neither compiled nor compared
    assert not hub.asked("POST", "/commit/|/repos/create|/branch/")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("repo", "options", "posts"),
    [
        ("user/there", [], ["/api/models/user/there/preupload/main"]),
        ("user/there", ["--revision", "v1"], ["/api/models/user/there/preupload/main"]),
        ("user/new", [], []),
        ("stranger/there", ["--create-pr"], ["/api/models/stranger/there/preupload/main"]),
        ("stranger/there", ["--dry-run", "dry"], []),
    ],
)
def test_who_may_write_is_compared(
    hub: LocalHub, publish: Publish, repo: str, options: list[str], posts: list[str]
) -> None:
    done = publish(repo, *options)
    assert done.returncode == COMPARED, done
    assert len(hub.asked("GET", "whoami")) == ("--dry-run" not in options)  # the Hub limits their rate
    assert [request.path for request in hub.asked("POST")] == posts


# -- answers of whoami


def account(role: str | None = "write", **more: Any) -> dict[str, Any]:
    access = {} if role is None else {"accessToken": {"displayName": "laptop", "role": role}}
    return {"type": "user", "name": "user", "orgs": [], "auth": {"type": "access_token", **access}, **more}


def organization(name: str, role: str | None = None, *groups: str) -> dict[str, Any]:
    about = {"type": "org", "name": name, "resourceGroups": [{"name": "a group", "role": each} for each in groups]}
    return about | ({} if role is None else {"roleInOrg": role})


def scoped(kind: str, name: str, right: str) -> dict[str, Any]:
    """The answer of whoami about a fine-grained token with one scope."""
    listed = [{"entity": {"type": kind, "name": name}, "permissions": [right]}]
    access = {"displayName": "laptop", "role": "fineGrained", "fineGrained": {"scoped": listed}}
    return {"type": "access_token", "accessToken": access}


MAY = [
    ("user", account()),
    ("user", account(name="USER")),
    ("user", account(None)),  # with OAuth
    ("user", {}),  # whoami tells nothing
    *(("team", account(orgs=[organization("Team", role)])) for role in ("write", "contributor", "a new role", None)),
    ("team", account(orgs=[organization("team", "read", "read", "contributor")])),  # a group of repositories
    ("team", account(None, orgs=None)),
    ("team", account(orgs=[organization("team", "write")], auth=scoped("org", "team", "repo.content.write"))),
    ("team", account(orgs=[organization("team")], auth=scoped("resource-group", "x", "repo.write"))),
    ("team", account(auth=scoped("org", "team", "repo.write"))),
    ("team", account("fineGrained", orgs=[organization("team")])),
]
MAY_NOT = [
    (account("read", orgs=[organization("team", "admin")]), "only reads"),
    (account(), "without user as a member"),
    (account(orgs=[organization("team", "read")]), "team is read"),
    (account(orgs=[organization("team", "no_access", "read")]), "team is no_access"),
    (account(auth=scoped("user", "user", "repo.write")), "no write access"),
    (account(auth=scoped("org", "team", "repo.content.read")), "no write access"),
]


@pytest.mark.parametrize(("namespace", "who"), MAY)
def test_what_whoami_does_not_exclude_is_left_to_the_hub(namespace: str, who: dict[str, Any]) -> None:
    rights.check(Place(f"{namespace}/new"), who, None, is_new=True, create_pr=False)


@pytest.mark.parametrize(("who", "why"), MAY_NOT)
def test_what_whoami_excludes(who: dict[str, Any], why: str) -> None:
    with pytest.raises(HubError, match=why):
        rights.check(Place("team/new"), who, None, is_new=True, create_pr=False)
