"""The ready-made tokenizers of ``tokenizers``, such as `ByteLevelBPETokenizer`, over ours.

It is the library's own code, imported a second time, in which the name ``Tokenizer`` is our class.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import tokenizers.implementations as _stock

from crayon_hf.tokenizer import Tokenizer as _Tokenizer

__path__ = list(_stock.__path__)  # the modules of this package are found there

for _found in pkgutil.iter_modules(__path__):
    _module: Any = import_module(f"{__name__}.{_found.name}")
    _module.Tokenizer = _Tokenizer
    for _name, _kind in vars(_module).items():
        if getattr(_kind, "__module__", None) == _module.__name__:
            globals()[_name] = _kind
