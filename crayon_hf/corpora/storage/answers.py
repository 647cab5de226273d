"""Handle failed requests to a store: whether to retry, and how to report the failure.

Each driver has its own errors. All have HTTP's status, or the error names of the stores' protocols.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any, TypeVar

from crayon_hf.corpora.storage import stopping
from crayon_hf.errors import CrayonError, StoreCredentialsError, StoreError
from crayon_hf.util.wording import first_line

Result = TypeVar("Result")

TRIES = 10
_TRIES_OF_NOWHERE = 3
_FIRST, _LONGEST = 0.1, 20.0
"""Seconds before the second try, doubled for each next try, and their maximum. The actual wait is a random part of
them, so that many rejected processes do not return at the same moment."""
_ENOUGH = 300.0
"""Seconds after which no new try begins. The drivers retry as well."""

_EXPIRED = {
    *("ExpiredToken", "TokenRefreshRequired", "RequestExpired", "InvalidToken", "InvalidAccessKeyId"),
    *("SignatureDoesNotMatch", "RequestTimeTooSkewed", "NoCredentialsError", "PartialCredentialsError"),
    *("CredentialRetrievalError", "UnauthorizedSSOTokenError", "TokenRetrievalError", "DefaultCredentialsError"),
    *("RefreshError", "AuthenticationFailed", "ClientAuthenticationError", "CredentialUnavailableError"),
    "LocalTokenNotFoundError",
}
"""Errors of S3, Google, Azure and the Hub about credentials."""
_AGAIN = {"RequestTimeout", "SlowDown", "Throttling", "ThrottlingException", "OperationAborted", "ServerBusy"}
_STATUSES = ("status_code", "status", "code")
_BUSY = (errno.EBUSY, errno.EAGAIN, errno.ETIMEDOUT, errno.ECONNRESET, errno.ECONNREFUSED, errno.ECONNABORTED,
         errno.EPIPE, errno.EHOSTUNREACH, errno.ENETUNREACH, getattr(errno, "EREMOTEIO", errno.EBUSY))  # fmt: skip


def patiently(address: str, call: Callable[[], Result], writes: bool = False) -> Result:
    """Call `call` and return its result, with retries for passing failures. `call` must be idempotent.

    `address` names the object in errors.

    Set `writes` for calls that need no existing object. Their "not found" is retried, because the answer to the last
    step of a finished upload may have been lost. If "not found" persists, the bucket is missing.

    Raises:
        FileNotFoundError, FileExistsError: As raised by `call`.
        Stopped: The work of this thread was stopped, and a call had failed.
        StoreCredentialsError: The credentials are missing or have expired.
        StoreError: The store refuses the request, or does not answer.
    """
    import tenacity

    def tried() -> Result:
        try:
            return call()
        except (FileExistsError, CrayonError, stopping.Stopped):
            raise
        except Exception as error:
            kind = _kind(error)
            if kind == "gone" and not writes:
                raise FileNotFoundError(errno.ENOENT, "not there", address) from error
            if kind == "credentials":
                raise StoreCredentialsError(
                    f"{address}: the store rejects the credentials ({first_line(error)}): renew them, then run it "
                    "again to continue"
                ) from error
            if kind == "refused":
                raise StoreError(f"{address}: the store refuses: {first_line(error)}") from error
            raise _Again(error) from error

    def is_enough(state: Any) -> bool:
        error = state.outcome.exception().error
        most = _TRIES_OF_NOWHERE if _kind(error) == "gone" else TRIES
        return bool(state.attempt_number >= most or state.seconds_since_start > _ENOUGH)

    try:
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Again),
            stop=is_enough,
            wait=tenacity.wait_random_exponential(_FIRST, _LONGEST),
            sleep=stopping.pause,
        )(tried)
    except tenacity.RetryError as error:
        last, tries = error.last_attempt.exception(), error.last_attempt.attempt_number
    assert isinstance(last, _Again)
    if _kind(last.error) == "gone":
        raise StoreError(f"{address}: bucket or container not found ({first_line(last.error)})") from last.error
    raise StoreError(
        f"{address}: {tries} tries failed, the last one with: {first_line(last.error)}: run it again to continue; "
        "finished work is kept"
    ) from last.error


class _Again(Exception):
    """A failed call that may succeed when it is retried."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def _kind(error: Exception) -> str:
    """Classify an error: ``again``, ``gone``, ``credentials`` or ``refused``."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:  # `__context__` may be unrelated
        chain.append(cause)
    names = {name for one in chain for name in _names(one)}
    if names & _EXPIRED:
        return "credentials"
    if isinstance(error, FileNotFoundError):
        return "gone"
    if names & _AGAIN:
        return "again"
    if status := next((status for one in chain if (status := _status(one))), 0):
        if status == 401:
            return "credentials"
        if status == 404:
            return "gone"
        return "again" if status in (408, 409, 423, 425, 429) or status >= 500 else "refused"
    if any(isinstance(one, (ConnectionError, TimeoutError)) for one in chain):
        return "again"
    if isinstance(error, PermissionError):
        return "refused"
    if isinstance(error, OSError) and error.errno is not None:
        return "again" if error.errno in _BUSY else "refused"
    return "refused" if isinstance(error, (TypeError, ValueError, LookupError, AttributeError)) else "again"


def _names(error: BaseException) -> tuple[str, str, str]:
    """The class of an error, and its names in the protocols of S3 and Azure."""
    response: Any = getattr(error, "response", None)
    of_s3 = response.get("Error", {}).get("Code") if isinstance(response, dict) else ""
    of_azure = getattr(error, "error_code", "")
    return type(error).__name__, str(of_s3), str(getattr(of_azure, "value", of_azure))


def _status(error: BaseException) -> int:
    """Return the HTTP status of an error, or 0 if it has none."""
    response: Any = getattr(error, "response", None)
    if isinstance(response, dict):  # botocore
        found = [response.get("ResponseMetadata", {}).get("HTTPStatusCode")]
    else:  # requests and httpx; azure, aiohttp and gcsfs
        found = [getattr(response, "status_code", None), *(getattr(error, name, None) for name in _STATUSES)]
    return next((int(each) for each in found if str(each).isdecimal() and int(each)), 0)
