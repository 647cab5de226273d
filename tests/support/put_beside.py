"""tokenizers 0.23 for the tests and the parity suites, in a process where all other modules import tokenizers 1.0.

`CRAYON_REFERENCE` names a directory that has 0.23. The environment of `tools/versions.py` imports this module at the
start of each Python, so that child processes compare with 0.23 as well.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_NAME = "tokenizers"
_ASKING = ("tests", "conftest", "pretokenize_reference", "parity_stand_in", "parity", "crayon_hf.parity")

failed: list[Callable[[ImportError], None]] = []
"""Functions to call with the ImportError if an import by a test or a parity module fails."""

_reference: dict[str, ModuleType] = {}
_import = builtins.__import__


def _import_for(name: str, globals: Any = None, *rest: Any, **named: Any) -> Any:
    if not _asks(globals or {}):
        return _import(name, globals, *rest, **named)
    if name.partition(".")[0] == _NAME:
        _load()
        with _in_place(_reference):
            return _import(name, globals, *rest, **named)
    try:
        return _import(name, globals, *rest, **named)
    except ImportError as error:
        for call in failed:
            call(error)
        raise


def _asks(names: dict[str, Any]) -> bool:
    asking = str(names.get("__name__", ""))
    if asking == "__main__":  # python -m parity
        asking = getattr(names.get("__spec__"), "name", None) or ""
    return any(asking == one or asking.startswith(f"{one}.") for one in _ASKING)


def _load() -> None:
    if _reference:
        return
    directory = os.environ["CRAYON_REFERENCE"]
    with _in_place({}):
        sys.path.insert(0, directory)
        try:
            import_module(f"{_NAME}.implementations")
        finally:
            sys.path.remove(directory)
        _reference.update(_modules())


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


builtins.__import__ = _import_for
