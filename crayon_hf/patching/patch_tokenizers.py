"""Replaces ``tokenizers.Tokenizer.from_*``. Only transformers and this package still get the library's class."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from crayon_hf.util.import_hooks import when_imported
from crayon_hf.util.replacing import Replacement, like

_STOCK_FOR = ("crayon_hf", "transformers")
"""Packages whose calls still return the library's class: transformers wraps such an object before we replace it."""


class _Hidden:
    """An attribute that instances seem to lack, although the base class `crayon_hf.Tokenizer` has it."""

    def __set_name__(self, kind: type, name: str) -> None:
        self.name = name

    def __get__(self, tokenizer: object, kind: type) -> Any:
        raise AttributeError(f"{kind.__name__!r} object has no attribute {self.name!r}")


@lru_cache(maxsize=1)
def _class() -> Any:
    """Return a subclass of our `Tokenizer` with the name and module of the library's class.

    Other libraries look at more than methods. For example, chonkie recognises tokenizers by the name of their class,
    and calls any `count_tokens` that they have; this class hides it.
    """
    from crayon_hf.fingerprints import facts, hash_by
    from crayon_hf.tokenizer import Tokenizer

    def reduce(self: Any) -> tuple[Any, ...]:
        make, (_, *parts) = Tokenizer.__reduce__(self)
        return _unpickle, (make, *parts)

    stock = sys.modules["tokenizers"].Tokenizer
    names = {
        **{name: getattr(stock, name) for name in ("__module__", "__doc__")},
        "__slots__": (),
        "__reduce__": reduce,
        "count_tokens": _Hidden(),
        "only_renames": True,  # transformers.originals lets fast paths use its methods
    }
    made = type(stock.__name__, (Tokenizer,), names)
    when_imported("datasets.utils._dill", "pklregister", lambda: hash_by(made, facts))
    return made


def _unpickle(make: Callable[..., Any], *parts: Any) -> Any:
    import tokenizers  # noqa: F401  the class takes its name from there

    return make(_class(), *parts)


def _opener(name: str) -> Replacement:
    def make(seen: Any, place: Replacement) -> Any:
        stock = seen.__func__ if isinstance(seen, staticmethod) else seen

        def opener(*args: Any, **kwargs: Any) -> Any:
            # All importers share one class, and names imported before count: only the caller's module tells them apart.
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if not place.is_wanted or caller.partition(".")[0] in _STOCK_FOR:
                return stock(*args, **kwargs)
            from crayon_hf.tokenizer import Tokenizer

            return _class()._of(getattr(Tokenizer, name)(*args, **kwargs)._state)

        return like(seen, opener)

    return Replacement("tokenizers", "Tokenizer", name, make)


PLACES = {
    f"tokenizers.Tokenizer.{name}": _opener(name)
    for name in ("from_file", "from_str", "from_buffer", "from_pretrained")
}
