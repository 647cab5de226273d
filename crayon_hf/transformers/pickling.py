"""Pickles of our classes and of their instances.

Our class has the name and module of a class of transformers, so an import by name would find the stock class. A pickle
names the stock class instead, and `class_for` makes ours from it. `pickle`, `copy`, `multiprocessing` and Ray ask
`copyreg` or the instance how to pickle. dill has its own table of functions that pickle. `datasets` hashes dill's
output, and has another such table.
"""

from __future__ import annotations

import copyreg
from functools import partial
from importlib import import_module
from typing import Any

from crayon_hf.transformers.classes import CrayonMeta, class_for
from crayon_hf.util.import_hooks import when_imported


def watch() -> None:
    """Register with `copyreg` now, and with dill and ``datasets`` when they are imported."""
    copyreg.pickle(CrayonMeta, _reduce_class)
    for module in ("dill", "datasets.utils._dill"):  # the table of `datasets` is a copy of dill's
        when_imported(module, "Pickler", partial(_register, module))


def reduce_instance(tokenizer: Any, reduced: Any) -> Any:
    """Return the result of `object.__reduce_ex__` with the class of transformers instead of ours."""
    stock = type(tokenizer).__dict__.get("_crayon_stock")
    if stock is None or reduced[0] is not copyreg.__newobj__:  # type: ignore[attr-defined]
        return reduced
    return (_new_for, (stock,), *reduced[2:])


def _new_for(stock: type) -> Any:
    cls: Any = class_for(stock)
    return cls.__new__(cls)


def _reduce_class(cls: CrayonMeta) -> Any:
    stock = cls.__dict__.get("_crayon_stock")
    return cls.__qualname__ if stock is None else (class_for, (stock,))


def _register(module: str) -> None:
    dispatch = import_module(module).Pickler.dispatch

    def save(pickler: Any, cls: CrayonMeta) -> None:
        reduced = _reduce_class(cls)
        if isinstance(reduced, str):
            dispatch[type](pickler, cls)
        else:
            pickler.save_reduce(*reduced, obj=cls)

    dispatch[CrayonMeta] = save
