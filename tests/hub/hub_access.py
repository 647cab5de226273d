"""Who may do what at a local Hub, and what the service answers to those who may not."""

from __future__ import annotations

from dataclasses import dataclass

from tests.hub.hub_storage import Missing, Repository


class Denied(Exception):
    """An answer of 401 or 403; `code` is what X-Error-Code says."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True)
class Token:
    """Whose token it is, and whether it may write."""

    user: str
    role: str = "write"


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
    if repository is not None and (not repository.private or (token and token.user == repository.owner)):
        return repository
    if token is None:
        raise Denied(401, "Invalid username or password.")
    raise Missing("RepoNotFound", "Repository not found")


def may_read(repository: Repository, token: Token | None) -> None:
    """The files of a repository that can be seen."""
    if not repository.gated or (token and token.user in (repository.owner, *repository.members)):
        return
    about = f"Access to model {repository.id} is restricted"
    if token is None:
        detail = "You must have access to it and be authenticated to access it. Please log in."
        raise Denied(401, f"{about}. {detail}", "GatedRepo")
    raise Denied(403, f"{about} and you are not in the authorized list.", "GatedRepo")


def may_write(namespace: str, token: Token | None, what: str) -> Token:
    """Change something in a namespace."""
    if token is None:
        raise Denied(401, "Invalid username or password.")
    if token.role != "write":
        raise Denied(403, f"Forbidden: you must use a write token to {what}")
    if token.user != namespace:
        raise Denied(403, f'You don\'t have the rights to {what} under the namespace "{namespace}"')
    return token
