"""`AutoTokenizer`, with the fast tokenizers of this package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from transformers.models.auto import tokenization_auto

from crayon_hf.transformers import loading
from crayon_hf.transformers.classes import opened_as
from crayon_hf.transformers.fast import CrayonTokenizerFast
from crayon_hf.transformers.rebinding import with_names
from crayon_hf.util.replacing import stock

_Stock: Any = tokenization_auto.AutoTokenizer


def open_auto(from_pretrained: Callable[..., Any], name: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of the stock `AutoTokenizer.from_pretrained`, with our class."""
    if loading.is_cartridge(name):
        return CrayonTokenizerFast.from_pretrained(name, *inputs, **kwargs)
    return loading.load(partial(_with_our_classes, from_pretrained), "auto", name, inputs, kwargs)


def _with_our_classes(from_pretrained: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the stock `from_pretrained`. Its global names for finding tokenizer classes lead to our classes instead."""
    names = vars(tokenization_auto)
    find = names["tokenizer_class_from_name"]
    ours = {
        "TOKENIZER_MAPPING": _Mapping(names["TOKENIZER_MAPPING"]),
        "TokenizersBackend": opened_as(names.get("TokenizersBackend")),
        "tokenizer_class_from_name": lambda name: opened_as(find(name)),
    }
    return with_names(from_pretrained, ours)(*args, **kwargs)


class _Mapping:
    """The mapping of transformers from configurations to tokenizer classes, with our classes as values."""

    def __init__(self, stock: Any) -> None:
        self._stock = stock

    def __getitem__(self, config: type) -> Any:
        found = self._stock[config]
        return tuple(map(opened_as, found)) if isinstance(found, tuple) else opened_as(found)

    def get(self, config: type, default: Any) -> Any:
        return self[config] if config in self._stock else default

    def __contains__(self, config: type) -> bool:
        return config in self._stock

    def __iter__(self) -> Iterator[type]:
        return iter(self._stock)


class AutoTokenizer(_Stock):  # type: ignore[misc]
    """Drop-in replacement for `transformers.AutoTokenizer`, with the same classes, results, arguments and errors.

    Slow tokenizers, which transformers has in Python only, are returned unchanged. docs/drop-in.md has examples.
    """

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any) -> Any:
        """Open a tokenizer with the arguments of `transformers.AutoTokenizer.from_pretrained`.

        Args:
            pretrained_model_name_or_path: A Hub id, a directory, or (only here) the path of a cartridge (``.dat``).
            inputs: Passed to the tokenizer class.
            kwargs: Keyword arguments of transformers.

        Returns:
            A `CrayonTokenizerFast` with the name of the class that transformers would return.

        Raises:
            VocabularyError: A file of the tokenizer is damaged.
        """
        return open_auto(stock(_Stock, "from_pretrained"), pretrained_model_name_or_path, inputs, kwargs)
