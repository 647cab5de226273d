"""tokenizers 0.23 beside tokenizers 1.0: the tests compare with the one, and the package finds the other.

1.0 has no offsets, no words, no components: it cannot say what is right. `CRAYON_REFERENCE` names a directory that has
0.23 (``pip install --target DIRECTORY tokenizers==0.23.3``). What a test file imports of ``tokenizers`` is then that,
as is what `crayon_hf.parity` compares with. A test that takes what 1.0 has not is skipped, and says what that is.
It is a plugin: ``python -m pytest -p tests.support.reference_beside``. ``make versions`` does all this.
"""

from __future__ import annotations

import builtins
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crayon_hf.errors import UnsupportedError

_NAME = "tokenizers"
_ASKING = ("tests", "conftest", "crayon_hf.parity")
_REFUSING = {
    "transformers": "transformers refuses to be beside tokenizers 1.0",
    "tokenizers.processors": "datatrove imports tokenizers.processors, which 1.0 has not",
}
"""By the module that is missing."""
_LACKING = re.compile(
    r"(what is not native \(.*\)|from_tokenizers|training a .* model with the library's trainer|"
    "training a (Unigram|WordPiece|WordLevel) model|training with .*|reading vocab.*)"
    " takes a class of tokenizers before 1.0, and 1[.].* is installed"
)
"""What ours says that it has not beside 1.0, and docs/drop-in.md as well."""


def _put_beside(directory: str) -> None:
    reference: dict[str, ModuleType] = {}
    with _in_place(reference):
        sys.path.insert(0, directory)
        try:
            import_module(f"{_NAME}.implementations")
        finally:
            sys.path.remove(directory)
        reference.update(_modules())
    plain = builtins.__import__

    def import_for(name: str, globals: Any = None, *rest: Any, **named: Any) -> Any:
        asking = str((globals or {}).get("__name__", ""))
        asks = any(asking == one or asking.startswith(f"{one}.") for one in _ASKING)
        if name.partition(".")[0] != _NAME or not asks:
            try:
                return plain(name, globals, *rest, **named)
            except ModuleNotFoundError as error:
                if asks and (reason := lack(error)):
                    pytest.skip(reason, allow_module_level=True)
                raise
        with _in_place(reference):
            return plain(name, globals, *rest, **named)

    builtins.__import__ = import_for


def lack(error: BaseException | None) -> str | None:
    """Why a test that raised this cannot run beside 1.0; None where that is no reason."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name in _REFUSING:
            return _REFUSING[error.name]
        if isinstance(error, UnsupportedError) and _LACKING.fullmatch(str(error)):
            return str(error)
        error = error.__cause__ or error.__context__
    return None


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


@contextmanager
def _in_place(modules: dict[str, ModuleType]) -> Iterator[None]:
    before = _modules()
    for name in before:
        del sys.modules[name]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in _modules():
            del sys.modules[name]
        sys.modules.update(before)


def _modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == _NAME}


_put_beside(os.environ["CRAYON_REFERENCE"])
