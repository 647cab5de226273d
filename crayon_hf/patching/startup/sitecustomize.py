"""Python runs this at startup, if this directory is on ``PYTHONPATH``.

It calls `crayon_hf.install` once the program imports transformers, tokenizers or tiktoken, and imports nothing before.
It also runs the other `sitecustomize` that it hides, if any.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from typing import Any


class _FirstImport:
    libraries = ("transformers", "tokenizers", "tiktoken")

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname not in self.libraries:
            return None
        sys.meta_path.remove(self)
        self.install()
        finders = (finder.find_spec(fullname, path, target) for finder in list(sys.meta_path))
        return next((spec for spec in finders if spec is not None), None)

    def install(self) -> None:
        try:
            from crayon_hf import patching
            from crayon_hf.patching import startup
        except ImportError as error:  # a Python without crayon_hf that inherited the environment
            print(f"crayon-hf: warning: not installed in {sys.executable}: {error}", file=sys.stderr)
            return
        wanted = startup.libraries(os.environ.get("CRAYON_INSTALL"))
        patching.install(**{name: name in wanted for name in startup.LIBRARIES})


def _run_the_next() -> None:
    here = os.path.realpath(os.path.dirname(__file__))
    spec = PathFinder.find_spec(__name__, [path for path in sys.path if os.path.realpath(path) != here])
    if spec is not None and spec.loader is not None:
        module = sys.modules[__name__] = module_from_spec(spec)
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    sys.meta_path.insert(0, _FirstImport())
    _run_the_next()
