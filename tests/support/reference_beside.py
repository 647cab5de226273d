"""A pytest plugin for `make versions`: tests compare with tokenizers 0.23, while the package imports tokenizers 1.0.

1.0 has no offsets, words and components, so it cannot be the reference. Test files and `crayon_hf.parity` import 0.23
as ``tokenizers``, by way of `put_beside`. A test that needs a feature missing in 1.0 is skipped, and the reason names
the feature.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from crayon_hf.errors import UnsupportedError

_REFUSING = {
    "transformers": "transformers refuses to be beside tokenizers 1.0",
    "tokenizers.processors": "datatrove imports tokenizers.processors, which 1.0 has not",
}
"""Reasons to skip a test, by the module that cannot be imported."""
_LACKING = re.compile(
    r"(a tokenizer that the engine does not support \(.*\)|from_tokenizers|"
    "training a .* model with the library's trainer|training a (Unigram|WordPiece|WordLevel) model|"
    "training with .*|reading vocab.*)"
    " needs tokenizers before 1.0, but 1[.].* is installed"
)
"""Matches the package's messages about features that tokenizers 1.0 lacks. docs/drop-in.md lists these features."""


def lack(error: BaseException | None) -> str | None:
    """Return the reason why a test with this exception cannot run with tokenizers 1.0, or None."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name in _REFUSING:
            return _REFUSING[error.name]
        if isinstance(error, UnsupportedError) and _LACKING.fullmatch(str(error)):
            return str(error)
        error = error.__cause__ or error.__context__
    return None


def _skip(error: ImportError) -> None:
    if reason := lack(error):
        pytest.skip(reason, allow_module_level=True)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore tests/transformers, whose conftest.py imports a missing package."""
    return True if collection_path.name == "transformers" and collection_path.is_dir() else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Iterator[None]:
    """Skip a test that needs a feature missing in tokenizers 1.0."""
    report: Any = yield
    reason = lack(call.excinfo.value) if call.excinfo is not None and report.failed else None
    if reason is not None:
        report.outcome, report.longrepr = "skipped", (*report.location[:2], f"Skipped: {reason}")
    return report  # type: ignore[no-any-return]


import_module("put_beside").failed.append(_skip)
