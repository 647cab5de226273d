"""Makes the name ``CrayonTokenizerFast`` known to transformers, without importing transformers.

A `tokenizer_config.json` names a class. The stock `AutoTokenizer` looks for it among the classes of the models, and
then in the package itself, which is where we put it. If the module of `AutoTokenizer` is there already, we do so at
once. Else a finder at the head of `sys.meta_path` waits for its name, lets the import go its usual way, adds the class
when the module is complete, and goes away.
"""

from __future__ import annotations

import sys
import threading
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_MODULE = "transformers.models.auto.tokenization_auto"
_NAME = "CrayonTokenizerFast"


def watch() -> None:
    """Register now, or when transformers is imported. Calling it again changes nothing."""
    module = sys.modules.get(_MODULE)
    if module is not None and hasattr(module, "AutoTokenizer"):
        _register()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _register() -> None:
    """Put the class into the package, where a class is looked for that no model is mapped to."""
    import transformers

    from crayon_hf.transformers_face.fast import CrayonTokenizerFast

    setattr(transformers, _NAME, CrayonTokenizerFast)


# Not a subclass of importlib.abc.MetaPathFinder, whose module takes a third of the time of importing crayon_hf.
class _Finder:
    def __init__(self) -> None:
        self._busy = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _MODULE or getattr(self._busy, "now", False):
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
        load(module)
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        try:
            _register()
        except Exception as error:  # an unknown transformers must not fail to import because of us
            import logging

            logging.getLogger("crayon_hf").debug("%s is not registered: %r", _NAME, error)

    loader.exec_module = exec_module
