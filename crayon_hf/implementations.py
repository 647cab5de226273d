"""The ready-made tokenizers of ``tokenizers``, such as `ByteLevelBPETokenizer`, on our engine.

The library's own modules are imported a second time, with our class under the name ``Tokenizer``.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import tokenizers.implementations as _stock

from crayon_hf.tokenizer import Tokenizer as _Tokenizer

__path__ = list(_stock.__path__)  # import the library's modules as ours

for _found in pkgutil.iter_modules(__path__):
    _module: Any = import_module(f"{__name__}.{_found.name}")
    _module.Tokenizer = _Tokenizer
    for _name, _kind in vars(_module).items():
        if getattr(_kind, "__module__", None) == _module.__name__:
            globals()[_name] = _kind
