"""All access to the Hub: through the client ``huggingface_hub``, whose errors become HubError.

The client handles tokens, the endpoint, the cache and offline mode by its own variables: ``HF_TOKEN``, ``HF_ENDPOINT``,
``HF_HOME``, ``HF_HUB_OFFLINE``. This module adds two things. A call that fails for a temporary reason is repeated a few
times. Downloaded files are checked against the Hub's digests; the client itself checks only their sizes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha1, sha256
from typing import IO, Any, NamedTuple, TypeVar

from crayon_hf.errors import HubError
from crayon_hf.util.extras import needed
from crayon_hf.util.hub_errors import is_transport

_T = TypeVar("_T")

_TRIES = 4

_PATIENCE = 20.0
"""No call is repeated later than this number of seconds after its first try."""

_PASSING = (429, 500, 502, 503, 504)

_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BLOCK = 1 << 20


class Place(NamedTuple):
    """A repository on the Hub at a revision. A revision of None means the main branch."""

    repo: str
    revision: str | None = None

    def __str__(self) -> str:
        return self.repo if self.revision is None else f"{self.repo}@{self.revision}"


class Listing(NamedTuple):
    """The files of a repository at one commit: their names, with their digests where known.

    A digest is a SHA-256 (64 hexadecimal digits) or the SHA-1 of a git blob (40). `is_offline` means that the listing
    comes from the client's cache, not from the Hub.
    """

    commit: str
    files: Mapping[str, str | None]
    is_offline: bool = False


def parse(repo: str, revision: str | None = None) -> Place:
    """Parse ``user/name`` or ``user/name@revision``. Raise ValueError for an invalid name or two revisions."""
    if not isinstance(repo, str):
        raise TypeError(f"repo is {type(repo).__name__}, expected str")
    name, at, after = repo.partition("@")
    if at and (not after or revision is not None):
        raise ValueError(f"{repo!r}: " + ("two revisions are given" if after else "no revision follows the @"))
    revision = after or revision
    try:
        library().utils.validate_repo_id(name)
    except ValueError as error:
        raise ValueError(f"{name!r} is not the name of a repository, as user/name is: {error}") from error
    if revision is not None and (not revision.strip() or revision.startswith("-") or set(revision) & set(" \t\n\\?#:")):
        raise ValueError(f"{revision!r} is not a revision: a branch, a tag or a commit")
    return Place(name, revision)


def library() -> Any:
    """Import ``huggingface_hub``. Raise MissingExtraError if it or a dependency is missing."""
    with needed("the Hub", "hub"):
        import filelock  # noqa: F401 (these three are imported later, by the client and by this package)
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.errors
        import huggingface_hub.utils
        import tenacity  # noqa: F401
        import yaml  # noqa: F401
    return huggingface_hub


def api(token: str | bool | None = None) -> Any:
    """The client's ``HfApi``."""
    from crayon_hf._core import __version__

    return library().HfApi(token=token, library_name="crayon-hf", library_version=__version__)


# -- reading


def listing(place: Place, token: str | bool | None = None) -> Listing:
    """List the files of `place` on the Hub, or in offline mode those in the client's cache. Raises HubError."""
    errors = library().errors

    def ask() -> Listing:
        try:
            info = api(token).model_info(
                place.repo,
                revision=place.revision,
                files_metadata=True,
                timeout=library().constants.HF_HUB_ETAG_TIMEOUT,  # the call has no timeout by default
            )
        except errors.OfflineModeIsEnabled as offline:
            try:
                folder = library().snapshot_download(
                    place.repo, revision=place.revision, local_files_only=True, allow_patterns=["tokenizer.json"]
                )
            except errors.LocalEntryNotFoundError as error:
                raise error from offline
            return Listing(os.path.basename(folder), dict.fromkeys(_files_in(folder)), is_offline=True)
        return listing_of(info)

    return call(place, "reading", ask)


def fetch(place: Place, files: Listing, names: Iterable[str], token: str | bool | None = None) -> str:
    """Download files of one commit into the client's cache, and check them. Raises HubError.

    A damaged file is removed from the cache, so the next try downloads it anew. Return the directory of the files.
    """
    wanted = list(names)

    def download(name: str, revision: str | None) -> str:
        path: str = library().hf_hub_download(
            place.repo, name, revision=revision, token=token, local_files_only=files.is_offline
        )
        return path

    def ask() -> list[str]:
        if not files.is_offline:
            download(wanted[0], place.revision)  # records which commit the revision is, for offline use
        return [download(name, files.commit) for name in wanted]  # the revision may just have moved to another commit

    paths = call(place, "downloading", ask)
    for name, path in zip(wanted, paths, strict=True):
        _check(place, path, name, files.files.get(name))
    return paths[0].removesuffix(wanted[0].replace("/", os.sep)).rstrip(os.sep)


def listing_of(info: Any) -> Listing:
    """Return the files that the client's ``model_info`` names."""
    return Listing(info.sha or "", {file.rfilename: _digest_of(file) for file in info.siblings or ()})


def _digest_of(file: Any) -> str | None:
    lfs = file.lfs
    digest: str | None = lfs["sha256"] if isinstance(lfs, dict) else getattr(lfs, "sha256", None)
    return digest or file.blob_id


def _files_in(folder: str) -> list[str]:
    return sorted(
        os.path.relpath(os.path.join(place, name), folder).replace(os.sep, "/")
        for place, _, names in os.walk(folder)
        for name in names
    )


def _check(place: Place, path: str, name: str, listed: str | None) -> None:
    # The client names a file in its cache by its ETag, which is the digest.
    stored = os.path.basename(os.readlink(path)) if os.path.islink(path) else None
    for expected in {listed, stored} - {None}:
        if expected is None or not _DIGEST.fullmatch(expected):
            continue
        with open(path, "rb") as file:
            found = digest(file, os.path.getsize(path), expected)
        if found != expected:
            for damaged in (os.path.join(os.path.dirname(path), os.readlink(path)) if stored else path, path):
                with contextlib.suppress(OSError):
                    os.unlink(damaged)
            raise HubError(
                f"{place}: {name} was damaged on the way: its digest is {found}, the Hub says {expected}. It was "
                "removed from the cache: try again"
            )


def digest(file: IO[bytes], size: int, like: str) -> str:
    """Return the digest of a file of `size` bytes, of the same kind as the digest `like`."""
    state = sha256() if len(like) == 64 else sha1(b"blob %d\0" % size, usedforsecurity=False)
    while block := file.read(_BLOCK):
        state.update(block)
    return state.hexdigest()


# -- calling


def call(place: Place, what: str, function: Callable[[], _T], again: bool = True) -> _T:
    """Return the result of `function`. Any error of the client becomes a HubError that names the work by `what`.

    After a temporary failure (a lost connection, a timeout, 429 and 5xx) the call is repeated, up to three times in
    20 s. Pass `again` false for work that must not be done twice.
    """
    import tenacity

    tries = tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda error: not isinstance(error, HubError) and _passes(_told(error))),
        stop=tenacity.stop_after_attempt(_TRIES if again else 1) | tenacity.stop_before_delay(_PATIENCE),
        wait=_wait,
        reraise=True,
    )
    try:
        return tries(function)
    except (HubError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise HubError(f"{place}: {_explain(place, what, _told(error))}") from error


def _wait(state: Any) -> float:
    """Return the seconds before the next try: 0.5, 1 and 2, or more if the Hub's ``Retry-After`` asks for more."""
    asked = _retry_after(_told(state.outcome.exception()))
    return float(max(0.5 * 2 ** (state.attempt_number - 1), asked or 0))


def _told(error: BaseException) -> BaseException:
    """Return the cause of an unspecific error of the client: the Hub's answer, or an error of the connection."""
    seen = error
    while isinstance(seen, (library().errors.LocalEntryNotFoundError, RuntimeError)) and seen.__cause__ is not None:
        seen = seen.__cause__
    return seen


def _status(error: BaseException) -> int | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _is_transport(error: BaseException) -> bool:
    if isinstance(error, library().errors.OfflineModeIsEnabled) or _status(error) is not None:
        return False
    return isinstance(error, (ConnectionError, TimeoutError)) or is_transport(error)


def _is_inconsistent(error: BaseException) -> bool:
    return isinstance(error, OSError) and "onsistency check" in str(error)


def _passes(error: BaseException) -> bool:
    return _status(error) in _PASSING or _is_transport(error) or _is_inconsistent(error)


def _retry_after(error: BaseException) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        return float(headers.get("Retry-After", ""))
    except (TypeError, ValueError):
        return None


_BY_STATUS = {
    400: "the Hub refused the request",
    401: "the repository does not exist, or the token may not do that: log in with `hf auth login`, or set HF_TOKEN",
    403: "the token may not do that: use one with write access to this repository",
    404: "not found on the Hub",
    409: "the request conflicts with the state of the Hub",
    412: "another commit has changed the repository meanwhile: try again",
    413: "too large for the Hub",
    429: "too many requests: wait a while, and try again",
}


def _explain(place: Place, what: str, error: BaseException) -> str:
    errors = library().errors
    status = _status(error)
    if isinstance(error, errors.GatedRepoError):
        return "gated repository: request access on its page on the Hub, then log in with `hf auth login`"
    if isinstance(error, errors.DisabledRepoError):
        return "the repository was disabled"
    if isinstance(error, errors.RepositoryNotFoundError):
        return (
            "the repository does not exist, or is private and the token may not see it: check the name; log in with "
            "`hf auth login`, set HF_TOKEN or give a token"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return f"the repository has no revision {place.revision or 'main'!r}: a branch, a tag or a commit is needed"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "it is not in the cache of huggingface_hub, and HF_HUB_OFFLINE is set: try again without"
    if status is None and isinstance(error, errors.EntryNotFoundError):
        return f"it is incomplete in the cache of huggingface_hub: {_line(error)}"
    if status is not None:
        said = _BY_STATUS.get(status, "the Hub has a problem of its own: try again later" if status >= 500 else "")
        wait = _retry_after(error)
        after = f" (it asks for {wait:g} seconds)" if wait is not None else ""
        return f"{what}: {said or 'the Hub refused'}{after}: {_said_by_the_hub(error)}"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return f"{what}: no space is left on the disk{_at(error)}: make room, and try again"
    if _is_inconsistent(error):
        return f"{what}: a file arrived incomplete: try again: {_line(error)}"
    if _is_transport(error):
        return f"{what}: the Hub cannot be reached: check the connection, and try again: {_line(error)}"
    if isinstance(error, OSError) and error.strerror:
        return f"{what}: {error.strerror}{_at(error)}"
    return f"{what}: {_line(error)}"


def _at(error: OSError) -> str:
    return f": {error.filename}" if error.filename else ""


def _said_by_the_hub(error: BaseException) -> str:
    said = getattr(error, "server_message", None)
    return f"{_status(error)}" + (f" {said}" if said else "")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
