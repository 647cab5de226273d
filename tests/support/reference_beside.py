"""tokenizers 0.23 beside tokenizers 1.0: the tests compare with the one, and the package finds the other.

1.0 has no offsets, no words, no components: it cannot say what is right. What a test file imports of ``tokenizers`` is
0.23, as is what `crayon_hf.parity` compares with: `put_beside` does that. A test that takes what 1.0 has not is
skipped, and says what that is. It is a plugin, which ``make versions`` gives to pytest.
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
"""By the module that is missing."""
_LACKING = re.compile(
    r"(a tokenizer that the engine does not support \(.*\)|from_tokenizers|"
    "training a .* model with the library's trainer|training a (Unigram|WordPiece|WordLevel) model|"
    "training with .*|reading vocab.*)"
    " needs tokenizers before 1.0, but 1[.].* is installed"
)
"""What ours says that it has not beside 1.0, and docs/drop-in.md as well."""


def lack(error: BaseException | None) -> str | None:
    """Why a test that raised this cannot run beside 1.0; None where that is no reason."""
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
    """tests/transformers, whose conftest.py imports what is not there."""
    return True if collection_path.name == "transformers" and collection_path.is_dir() else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Iterator[None]:
    """A test that takes what tokenizers 1.0 has not is skipped."""
    report: Any = yield
    reason = lack(call.excinfo.value) if call.excinfo is not None and report.failed else None
    if reason is not None:
        report.outcome, report.longrepr = "skipped", (*report.location[:2], f"Skipped: {reason}")
    return report  # type: ignore[no-any-return]


import_module("put_beside").failed.append(_skip)
