"""The page's table of errors and the gallery are about the same things."""

from __future__ import annotations

import crayon_hf.errors
from tests.hostile.case import ACCEPTED
from tests.hostile.make import PARTS
from tests.hostile.promises import pattern_of, promised


def test_the_page_has_errors_that_there_are() -> None:
    assert len(promised()) > 40
    for message, name in promised().items():
        error = getattr(crayon_hf.errors, name, None) or getattr(__import__("builtins"), name)
        assert issubclass(error, Exception), message


def test_every_promise_has_a_case() -> None:
    cases = [case for name, part in PARTS.items() if name != "lies" for case in part()]
    assert all(case.promise in promised() for case in cases if case.promise)
    assert set(promised()) <= {case.promise for case in cases}
    assert sum(case.error == ACCEPTED for case in cases) < 60


def test_patterns() -> None:
    pattern = pattern_of("section NAME has N bytes, more than the N allowed", "/a/b.dat")
    assert pattern.fullmatch("/a/b.dat: section metadata has 5 bytes, more than the 4 allowed")
    assert not pattern.fullmatch("/a/b.dat: section metadata has many bytes, more than the 4 allowed")
    assert not pattern.fullmatch("section metadata has 5 bytes, more than the 4 allowed")
    assert pattern_of("PATH is not a file", "/a\n.dat").fullmatch(r"/a\n.dat is not a file")
