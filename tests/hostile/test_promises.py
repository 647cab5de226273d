"""The documentation's table of errors and the gallery of hostile files have the same cases."""

from __future__ import annotations

import crayon_hf.errors
from tests.hostile.make import PARTS
from tests.hostile.promises import promised


def test_the_page_has_errors_that_there_are() -> None:
    assert len(promised()) > 40
    for message, name in promised().items():
        error = getattr(crayon_hf.errors, name, None) or getattr(__import__("builtins"), name)
        assert issubclass(error, Exception), message


def test_every_promise_has_a_case() -> None:
    cases = [case for part in PARTS.values() for case in part()]
    assert all(case.promise in promised() for case in cases if case.promise)
    assert set(promised()) <= {case.promise for case in cases}
