"""Runs functions when another library is imported, without importing it.

A finder at the head of `sys.meta_path` waits for the module's name and lets the import proceed. When the module is
complete, the finder runs the function and removes itself.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def when_imported(module: str, name: str, action: Callable[[], None]) -> None:
    """Run `action` now if `module` is imported and has `name`, else when it is imported. Idempotent.

    `importlib.reload` of the module undoes the action.
    """
    if hasattr(sys.modules.get(module), name):
        action()
        return
    finder = _waiting(module)
    if finder is None:
        # Remove import finders left by a previous import of this package: they would act for its dropped modules.
        sys.meta_path[:] = [finder for finder in sys.meta_path if not _is_of_a_copy(finder, module)]
        sys.meta_path.insert(0, _Finder(module, action))
    elif action not in finder.actions:
        finder.actions.append(action)


def no_longer(module: str, action: Callable[[], None]) -> None:
    """Cancel a waiting `when_imported`."""
    finder = _waiting(module)
    if finder is not None and action in finder.actions:
        finder.actions.remove(action)
        if not finder.actions:
            sys.meta_path.remove(finder)


def _waiting(module: str) -> _Finder | None:
    return next((finder for finder in sys.meta_path if isinstance(finder, _Finder) and finder.module == module), None)


def _is_of_a_copy(finder: Any, module: str) -> bool:
    kind = type(finder)
    return (kind.__module__, kind.__qualname__) == (__name__, _Finder.__qualname__) and finder.module == module


# Not a subclass of importlib.abc.MetaPathFinder: importing that module would take a third of our import time.
class _Finder:
    def __init__(self, module: str, action: Callable[[], None]) -> None:
        self.module = module
        self.actions = [action]
        self._busy = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.module or getattr(self._busy, "now", False):
            return None
        self._busy.now = True
        try:
            spec = next(
                (
                    found
                    for finder in sys.meta_path
                    if finder is not self and (found := finder.find_spec(fullname, path, target)) is not None
                ),
                None,
            )
        finally:
            self._busy.now = False
        if spec is not None and spec.loader is not None:
            _after_loading(spec.loader, self)
        return spec


def _after_loading(loader: Any, finder: _Finder) -> None:
    load = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)  # the module keeps its loader, which may get pickled
        load(module)
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        for action in finder.actions:
            try:
                action()
            except Exception as error:  # an unknown version of the library must still be importable
                import logging

                logging.getLogger("crayon_hf").debug("after the import of %s: %r", finder.module, error)

    loader.exec_module = exec_module
