"""``pytest.importorskip`` for tests that require a library: in CI, a missing library fails the test.

Elsewhere the test is skipped. ``CRAYON_TESTS`` says what .ci/run has installed: ``light`` means README's command, so
tests of other libraries must be marked slow; ``all`` means everything, and the programs of `lacking`.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import pytest

INSTALLED = os.environ.get("CRAYON_TESTS", "")

ELSEWHERE = {"langchain_text_splitters", "llama_index", "haystack", "chonkie"}
"""Libraries that `make chunkers` installs before it runs their tests."""
if sys.version_info < (3, 11):
    ELSEWHERE |= {"tomllib", "mistral_common", "trl", "pyspark"}
if not (3, 11) <= sys.version_info < (3, 14) or sys.platform != "linux":
    ELSEWHERE |= {"atheris", "megatron", "zstandard"}

_or_skip = pytest.importorskip


def importorskip(modname: str, *arguments: Any, **options: Any) -> Any:
    """Do as `pytest.importorskip` does, but in CI fail if the module is missing.

    With ``CRAYON_TESTS=light``, a call at the top of a test file may skip the file: tests/release/test_lock.py checks
    that such a file is marked slow.
    """
    is_of_file = sys._getframe(1).f_code.co_name == "<module>"
    is_wanted = INSTALLED == "all" or (INSTALLED == "light" and not is_of_file)
    if is_wanted and modname.partition(".")[0] not in ELSEWHERE:
        import_module(modname)
    return _or_skip(modname, *arguments, **options)


def lacking(reason: str, **options: bool) -> NoReturn:
    """Skip a test whose program is missing. With ``CRAYON_TESTS=all``, as in CI, fail it."""
    if INSTALLED == "all":
        raise RuntimeError(f"CRAYON_TESTS=all, and {reason}")
    pytest.skip(reason, **options)
