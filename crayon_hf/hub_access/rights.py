"""Check, before the work and without a change, whether the account that is logged in may publish to a repository.

For an existing repository, the check is the request that the client makes before each commit (``preupload``: which
files go to LFS). It needs write access, or with ``create_pr`` the right to open a pull request. For a new repository,
``whoami`` decides: the role of the token, and the user's role in the organization. The check refuses only for a reason
that ``whoami`` gives; otherwise the Hub decides later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from crayon_hf.errors import HubError
from crayon_hf.hub_access import client
from crayon_hf.hub_access.client import Place
from crayon_hf.hub_access.staging import README

Account = Mapping[str, Any]
"""The answer of ``whoami``."""

_WRITE = ("repo.write", "repo.content.write")
"""Permissions of fine-grained tokens; the first one includes the second."""

_LOGIN = "(`hf auth login`, or HF_TOKEN)"


class _Refusal(NamedTuple):
    why: str
    """The text that follows the user's name in the message."""
    remedy: str


def account(place: Place, token: str | bool | None) -> Account:
    """Return the owner of the token, and its rights. Raise HubError for a missing or unknown token."""
    said: Account = client.call(place, "logging in", client.api(token).whoami)
    return said


def check(place: Place, who: Account, token: str | bool | None, *, is_new: bool, create_pr: bool) -> None:
    """Raise HubError unless the account may publish to `place`. The revision must exist."""
    if is_new:
        refusal = _of_token(who, place) or _of_user(who, place)
        if refusal is not None:
            raise _error(place, who, refusal)
        return
    from huggingface_hub import CommitOperationAdd

    nothing = CommitOperationAdd(README, b"")  # the client does not upload empty files

    def ask() -> None:
        client.api(token).preupload_lfs_files(place.repo, [nothing], revision=place.revision, create_pr=create_pr)

    try:
        client.call(place, "asking for write access", ask)
    except HubError as error:
        cause = error.__cause__
        if cause is None or client._status(cause) != 403:
            raise
        refusal = _of_pull_request(who, place) if create_pr else _of_repository(who, place)
        raise _error(place, who, refusal, f" ({client._said_by_the_hub(cause)})") from cause


def _error(place: Place, who: Account, refusal: _Refusal, said: str = "") -> HubError:
    token = _token(who).get("displayName")
    login = f"you are logged in as {who.get('name')}" + (f" (token {token!r})" if token else "")
    return HubError(f"{place.repo}: {login}, {refusal.why}{said}: {refusal.remedy}. Nothing was compared or uploaded")


def _of_repository(who: Account, place: Place) -> _Refusal:
    """Return why the account cannot write to the repository, which has answered 403."""
    refusal = _of_token(who, place)
    if refusal is None:
        unknown = _Refusal("who may not write to this repository", f"use another token {_LOGIN}")
        refusal = _of_user(who, place) or unknown
        refusal = refusal._replace(remedy=f"{refusal.remedy}, or open a pull request (--create-pr)")
    return refusal


def _of_pull_request(who: Account, place: Place) -> _Refusal:
    """Return why the account cannot open a pull request, which the Hub has refused with 403."""
    return _of_reader(who, place) or _Refusal("who may not open a pull request there", f"use another token {_LOGIN}")


def _of_user(who: Account, place: Place) -> _Refusal | None:
    """Return why the user cannot write to a namespace with any token, or None if ``whoami`` does not tell."""
    own, organizations, (namespace, _, name) = who.get("name"), who.get("orgs"), place.repo.partition("/")
    if _is_same(own, namespace) or not isinstance(organizations, list):
        return None
    elsewhere = f"publish to {own}/{name}"
    organization = next((each for each in organizations if _is_same(each.get("name"), namespace)), None)
    if organization is None and _scopes(who) is None:
        why = f"and {namespace} is another user, or an organization without {own} as a member"
        return _Refusal(why, f"{elsewhere}, or use the token of an account that may write there {_LOGIN}")
    if organization is None:  # a fine-grained token's own scopes count
        return None
    roles = [organization.get("roleInOrg"), *(each.get("role") for each in organization.get("resourceGroups") or ())]
    if all(role in ("read", "no_access") for role in roles):
        why = f"whose role in the organization {namespace} is {roles[0]}"
        return _Refusal(why, f"ask an admin of {namespace} for the role contributor or write, or {elsewhere}")
    return None


def _of_token(who: Account, place: Place) -> _Refusal | None:
    """Return why the token cannot write to a namespace of its user, or None if ``whoami`` does not tell."""
    if refusal := _of_reader(who, place):
        return refusal
    scopes, namespace = _scopes(who), place.repo.partition("/")[0]
    if scopes is not None and not _covers(scopes, place):
        why = f"and the token has no write access to the repositories of {namespace}"
        return _Refusal(why, f"give it that access on {_settings()}, or use another one {_LOGIN}")
    return None


def _of_reader(who: Account, place: Place) -> _Refusal | None:
    """Return the refusal of a read-only token, or None for other tokens."""
    if _token(who).get("role") != "read":
        return None
    remedy = f"make one that may write to {place.repo.partition('/')[0]} on {_settings()}, and use it {_LOGIN}"
    return _Refusal("and the token only reads", remedy)


def _covers(scopes: Iterable[Mapping[str, Any]], place: Place) -> bool:
    """Whether a fine-grained token may write to the namespace, or to this repository.

    A scope may also be a group of an organization's repositories: only the Hub knows its members.
    """
    names = (place.repo.partition("/")[0], place.repo)
    for scope in scopes:
        entity = scope.get("entity") or {}
        is_meant = entity.get("type") == "resource-group" or any(_is_same(entity.get("name"), name) for name in names)
        if is_meant and not set(_WRITE).isdisjoint(scope.get("permissions") or ()):
            return True
    return False


def _settings() -> str:
    """Return the address of the page on which users manage their tokens."""
    return f"{client.library().constants.ENDPOINT}/settings/tokens"


def _token(who: Account) -> Mapping[str, Any]:
    return (who.get("auth") or {}).get("accessToken") or {}


def _scopes(who: Account) -> list[Mapping[str, Any]] | None:
    """Return the permissions of a fine-grained token, or None for other tokens."""
    token = _token(who)
    scopes = (token.get("fineGrained") or {}).get("scoped")
    return scopes if token.get("role") == "fineGrained" and isinstance(scopes, list) else None


def _is_same(name: Any, other: str) -> bool:
    """Whether two names are equal regardless of case. The Hub accepts no two names that differ in case alone."""
    return isinstance(name, str) and name.casefold() == other.casefold()
