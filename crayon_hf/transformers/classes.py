"""Our class for each tokenizer class of transformers.

`class_for(BertTokenizer)` derives from `BertTokenizer` (the stock class) and `CrayonTokenizerFast`, in this order. So
overrides in the stock class stay in effect, and only methods of the common base are replaced. Our class has the name
and module of its stock class, because transformers writes names into files and compares them. If the stock class
derives from another tokenizer class, our class also derives from our class for that one.
"""

from __future__ import annotations

import copyreg
import functools
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from transformers import PreTrainedTokenizerFast

from crayon_hf.transformers.backend import from_reference, replace
from crayon_hf.transformers.construction import is_building, over_our_engine
from crayon_hf.transformers.damage import damage_named
from crayon_hf.transformers.originals import note_replaced
from crayon_hf.util.reference import is_reference

_base: type[Any] | None = None
_classes: dict[type, type[Any]] = {}
_lock = threading.Lock()


class CrayonMeta(type):
    """The class of our classes. A call builds a tokenizer as transformers does, and converts its backend at the end."""

    _crayon_stock: type | None

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an instance as the stock class of `cls` does."""
        make: Any = class_for(PreTrainedTokenizerFast) if cls is _base else cls
        tokenizer: Any = make.__new__(make, *args, **kwargs)
        tokenizer.__dict__["_crayon_building"] = True
        try:
            with damage_named(None, None, kwargs):
                tokenizer.__init__(*args, **kwargs)
        finally:
            tokenizer.__dict__.pop("_crayon_building", None)
        return convert_backend(tokenizer, keep=is_building())

    def __eq__(cls, other: object) -> bool:
        """Whether `other` is this class or its stock class, with which programs compare ``type(tokenizer)``."""
        return other is cls or (other is not None and other is cls.__dict__.get("_crayon_stock"))

    def __hash__(cls) -> int:
        stock = cls.__dict__.get("_crayon_stock")
        return type.__hash__(cls) if stock is None else hash(stock)

    def __repr__(cls) -> str:
        stock = cls.__dict__.get("_crayon_stock")
        name = f"{cls.__module__}.{cls.__qualname__}"
        return f"<class '{name}'>" if stock is None else f"<class 'crayon_hf.CrayonTokenizerFast' for '{name}'>"


def derive_from(base: type[Any]) -> None:
    """Set `CrayonTokenizerFast`, which imports this module, as the base of all our classes."""
    global _base
    _base = base


def stock_class(cls: type) -> type:
    """Return the class of transformers that `cls` replaces, or `cls` itself for a class of the program."""
    stock = cls.__dict__.get("_crayon_stock")
    return stock if isinstance(stock, type) else PreTrainedTokenizerFast if cls is _base else cls


def class_for(stock: type) -> type[Any]:
    """Return our class for a tokenizer class of transformers, always the same object."""
    made = _classes.get(stock)
    if made is None:
        if _base is None:  # loading a pickle can call this first
            import_module("crayon_hf.transformers.fast")
        assert _base is not None
        bases: tuple[type, ...] = (_base,)
        if stock is not PreTrainedTokenizerFast:
            above = next(base for base in stock.__mro__[1:] if issubclass(base, PreTrainedTokenizerFast))
            bases = stock, _base if above is PreTrainedTokenizerFast else class_for(above)
        names = {name: getattr(stock, name) for name in ("__module__", "__qualname__", "__doc__")}
        if stock is not PreTrainedTokenizerFast and "__init__" in vars(stock):
            names["__init__"] = _init_of(stock)
        make: Any = _metaclass(bases)
        if hasattr(stock.__init_subclass__, "__func__"):
            bases = _silent(), *bases
        with _lock:
            made = _classes.get(stock)
            if made is None:
                new: Any = make(stock.__name__, bases, names | {"_crayon_stock": stock})
                made = _classes[stock] = new
    return made


def _metaclass(bases: tuple[type, ...]) -> type:
    """Return a metaclass for a class with these bases: a program's class may have its own, such as `abc.ABCMeta`."""
    kinds = tuple(dict.fromkeys(map(type, bases)))
    for kind in kinds:
        if all(issubclass(kind, other) for other in kinds):
            return kind
    made = type(CrayonMeta.__name__, kinds, {})
    copyreg.pickle(made, copyreg.dispatch_table[CrayonMeta])
    return made


def _silent() -> type:
    """Return a base that hides the `__init_subclass__` of a program's class from our class, not from derived ones."""

    class Silent:
        def __init_subclass__(cls, **kwargs: Any) -> None:
            if "_crayon_stock" not in vars(cls):
                super().__init_subclass__(**kwargs)

    return Silent


def _init_of(stock: Any) -> Callable[..., None]:
    @functools.wraps(stock.__init__)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        over_our_engine(stock.__init__)(self, *args, **kwargs)

    return __init__


def opened_as(cls: Any) -> Any:
    """Return our class for a fast tokenizer class of transformers.

    Other classes, such as those in a repository, are returned unchanged.
    """
    is_own = isinstance(cls, type) and cls.__module__.startswith("transformers.")
    return class_for(cls) if is_own and issubclass(cls, PreTrainedTokenizerFast) else cls


def adopt(tokenizer: Any, keep: bool = False) -> Any:
    """Convert a tokenizer that transformers has just made, in place. Slow tokenizers stay unchanged."""
    if not isinstance(tokenizer, PreTrainedTokenizerFast) or isinstance(type(tokenizer), CrayonMeta):
        return tokenizer
    tokenizer.__class__ = class_for(type(tokenizer))
    return convert_backend(tokenizer, keep)


def convert_backend(tokenizer: Any, keep: bool = False) -> Any:
    """Convert the `_tokenizer` of an instance of our classes to a `crayon_hf.Tokenizer`, and return the instance."""
    note_replaced(tokenizer)
    backend = tokenizer.__dict__.get("_tokenizer")
    if is_reference(backend):
        wrapped = callable(vars(backend).get("decode"))  # CLIP's classes wrap the backend's decode
        if wrapped and not hasattr(tokenizer, "_wrap_decode_method_backend_tokenizer"):
            return tokenizer  # an unknown wrapper: keep the reference
        converted = from_reference(backend, keep)
        replace(tokenizer, backend, converted)
        if wrapped and converted is not backend:
            tokenizer._wrap_decode_method_backend_tokenizer()
    return tokenizer
