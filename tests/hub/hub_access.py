"""Who may do what at a local Hub, and what the service answers to those who may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.hub.hub_storage import Missing, Repository


class Denied(Exception):
    """An answer of 401 or 403; `code` is what X-Error-Code says."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


PROPOSE = "Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request"


@dataclass(frozen=True)
class Token:
    """Whose token it is, and what it may do."""

    user: str
    role: str = "write"
    """`write`, `read` or `fineGrained`."""
    organizations: Mapping[str, str] = field(default_factory=dict)
    """Those of its user, with the user's role: `admin`, `write`, `contributor`, `read` or `no_access`."""
    scopes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What a fine-grained one is permitted: by user, organization or repository."""

    def described(self) -> dict[str, Any]:
        """What `whoami` says of the user and the token."""
        access: dict[str, Any] = {"displayName": f"{self.role} token", "role": self.role}
        access |= {"createdAt": "2024-01-01T00:00:00.000Z"}
        if self.role == "fineGrained":
            scoped = [
                {"entity": {"_id": name, "name": name, "type": self._kind(name)}, "permissions": list(permissions)}
                for name, permissions in self.scopes.items()
            ]
            access["fineGrained"] = {"canReadGatedRepos": True, "global": [], "scoped": scoped}
        organizations = [
            {"type": "org", "id": name, "name": name, "fullname": name, "avatarUrl": "", "roleInOrg": role}
            for name, role in self.organizations.items()
        ]
        about = {"type": "user", "id": self.user, "name": self.user, "fullname": self.user, "orgs": organizations}
        return about | {"isPro": False, "auth": {"type": "access_token", "accessToken": access}}

    def _kind(self, name: str) -> str:
        return "model" if "/" in name else "user" if name == self.user else "org"

    def belongs_to(self, namespace: str) -> bool:
        """Whether its user sees what is private there."""
        return namespace == self.user or self.organizations.get(namespace, "no_access") != "no_access"


def who(authorization: str | None, tokens: dict[str, Token]) -> Token | None:
    """Whose request it is; None for nobody's. A token that is not known is refused everywhere."""
    if authorization is None:
        return None
    kind, _, secret = authorization.partition(" ")
    token = tokens.get(secret.strip())
    if kind.lower() != "bearer" or token is None:
        raise Denied(401, "Invalid credentials in Authorization header")
    return token


def may_see(repository: Repository | None, token: Token | None) -> Repository:
    """That there is such a repository, its files' names and its card. A private one does not exist for others."""
    if repository is not None and (not repository.private or (token and token.belongs_to(repository.owner))):
        return repository
    if token is None:
        raise Denied(401, "Invalid username or password.")
    raise Missing("RepoNotFound", "Repository not found")


def may_read(repository: Repository, token: Token | None) -> None:
    """The files of a repository that can be seen."""
    if not repository.gated or (token and (token.belongs_to(repository.owner) or token.user in repository.members)):
        return
    about = f"Access to model {repository.id} is restricted"
    if token is None:
        detail = "You must have access to it and be authenticated to access it. Please log in."
        raise Denied(401, f"{about}. {detail}", "GatedRepo")
    raise Denied(403, f"{about} and you are not in the authorized list.", "GatedRepo")


def may_create(namespace: str, token: Token | None) -> Token:
    """Make a repository in a namespace."""
    token = _writer(token, "create a model")
    can = namespace == token.user or token.organizations.get(namespace) in ("admin", "write", "contributor")
    if not can or not _is_permitted(token, namespace):
        raise Denied(403, f'You don\'t have the rights to create a model under the namespace "{namespace}"')
    return token


def may_write(repository: Repository, token: Token | None) -> Token:
    """Change a repository."""
    token = _writer(token, "upload to a repository")
    role = token.organizations.get(repository.owner)
    can = repository.owner == token.user or role in ("admin", "write")
    can = can or (role == "contributor" and repository.author == token.user)
    if not can or not _is_permitted(token, repository.owner, repository.id):
        raise Denied(403, PROPOSE)
    return token


def may_propose(repository: Repository, token: Token | None) -> Token:
    """Open a pull request in any repository that can be read."""
    may_read(repository, token)
    return _writer(token, "open a pull request")


def _writer(token: Token | None, what: str) -> Token:
    if token is None:
        raise Denied(401, "Invalid username or password.")
    if token.role == "read":
        raise Denied(403, f"Forbidden: you must use a write token to {what}")
    return token


def _is_permitted(token: Token, *names: str) -> bool:
    return token.role != "fineGrained" or any("repo.write" in token.scopes.get(name, ()) for name in names)
