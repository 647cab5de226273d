"""The errors of a store's driver decide whether a request is repeated or fails at once."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import pytest

from crayon_hf import StoreCredentialsError, StoreError
from crayon_hf.corpora.storage import answers
from crayon_hf.corpora.storage.answers import patiently


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_FIRST", 0.0)


def s3(code: str, status: int) -> Exception:
    """An error as s3fs raises it: a Python error whose cause is an error of botocore."""
    exceptions = pytest.importorskip("botocore.exceptions")
    translate = pytest.importorskip("s3fs.errors").translate_boto_error
    response = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    found: Exception = translate(exceptions.ClientError(response, "PutObject"))
    return found


def google(status: int) -> Exception:
    found: Exception = pytest.importorskip("gcsfs.retry").HttpError({"code": status, "message": "so it is"})
    return found


def azure(status: int, name: str = "HttpResponseError") -> Exception:
    exceptions = pytest.importorskip("azure.core.exceptions")
    error: Any = getattr(exceptions, name)("so it is")
    error.status_code = status
    return error  # type: ignore[no-any-return]


class Failing:
    """A request that fails `times` times."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error, self.times, self.calls = error, times, 0

    def __call__(self) -> int:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return 5


def test_what_is_not_there() -> None:
    """A reader of a missing object gets the error. A writer asks again, because the upload may have just ended."""
    for error in (FileNotFoundError("gone"), *(make() for make in (lambda: s3("NoSuchKey", 404), lambda: azure(404)))):
        call = Failing(error, 1)
        with pytest.raises(FileNotFoundError):
            patiently("s3://b/k", call)
        assert call.calls == 1
        assert patiently("s3://b/k", Failing(error, 1), writes=True) == 5
        with pytest.raises(StoreError, match="bucket or container not found"):
            patiently("s3://b/k", Failing(error, 9), writes=True)


CASES: dict[str, tuple[Callable[[], Exception], str]] = {
    "s3 slow down": (lambda: s3("SlowDown", 503), "again"),
    "s3 timeout": (lambda: s3("RequestTimeout", 400), "again"),
    "s3 conflict": (lambda: s3("ConditionalRequestConflict", 409), "again"),
    "google 429": (lambda: google(429), "again"),
    "azure 503": (lambda: azure(503), "again"),
    "reset": (lambda: ConnectionResetError(errno.ECONNRESET, "reset"), "again"),
    "timeout": (lambda: TimeoutError(), "again"),
    "unreachable": (lambda: OSError(errno.ENETUNREACH, "unreachable"), "again"),
    "s3 expired": (lambda: s3("ExpiredToken", 400), "renew them"),
    "s3 unknown key": (lambda: s3("InvalidAccessKeyId", 403), "renew them"),
    "s3 none": (lambda: pytest.importorskip("botocore.exceptions").NoCredentialsError(), "renew them"),
    "google 401": (lambda: google(401), "renew them"),
    "azure none": (lambda: azure(0, "ClientAuthenticationError"), "renew them"),
    "s3 denied": (lambda: s3("AccessDenied", 403), "the store refuses"),
    "google 403": (lambda: google(403), "the store refuses"),
    "azure 403": (lambda: azure(403), "the store refuses"),
    "a mistake of ours": (lambda: TypeError("no such argument"), "the store refuses"),
    "a full disk": (lambda: OSError(errno.ENOSPC, "full"), "the store refuses"),
}


@pytest.mark.parametrize("name", CASES)
def test_asked_again_or_said_at_once(name: str) -> None:
    make, says = CASES[name]
    call = Failing(make(), 99)
    with pytest.raises(StoreError, match="10 tries failed" if says == "again" else says) as raised:
        patiently("s3://b/k", call)
    assert call.calls == (answers.TRIES if says == "again" else 1)
    assert isinstance(raised.value, StoreCredentialsError) == (says == "renew them")
    if says == "again":
        assert patiently("s3://b/k", Failing(make(), 3), writes=True) == 5


def test_an_error_that_is_handled_says_nothing_of_the_next() -> None:
    try:
        raise s3("ExpiredToken", 400)
    except OSError:
        call = Failing(ConnectionResetError(errno.ECONNRESET, "reset"), 2)
        assert patiently("s3://b/k", call) == 5
