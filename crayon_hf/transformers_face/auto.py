"""`AutoTokenizer`, and what makes the stock one return our tokenizers."""

from __future__ import annotations

import os
import threading
from typing import Any

from transformers.models.auto import tokenization_auto

from crayon_hf.transformers_face import loading, streams
from crayon_hf.transformers_face.fast import CrayonTokenizerFast

_Stock: Any = tokenization_auto.AutoTokenizer
_stock_from_pretrained: Any = _Stock.__dict__["from_pretrained"]
_lock = threading.Lock()


def _open_stock(name: Any, *inputs: Any, **kwargs: Any) -> Any:
    return _stock_from_pretrained.__get__(None, _Stock)(name, *inputs, **kwargs)


def _open(name: Any, *inputs: Any, **kwargs: Any) -> Any:
    if isinstance(name, (str, os.PathLike)) and os.fspath(name).endswith(".dat") and os.path.isfile(name):
        return CrayonTokenizerFast.from_pretrained(name, *inputs, **kwargs)
    return loading.load(_open_stock, "auto", name, inputs, kwargs)


class AutoTokenizer(_Stock):  # type: ignore[misc]
    """`transformers.AutoTokenizer`, whose fast tokenizers are ours: the same classes, results, arguments and errors.

    Slow tokenizers (those that transformers has in Python only) are returned as they are.
    """

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any) -> Any:
        """Open the tokenizer of a Hub id or a directory, or a cartridge (``.dat``) by its path.

        The arguments are those of `transformers.AutoTokenizer.from_pretrained`.
        """
        return _open(pretrained_model_name_or_path, *inputs, **kwargs)


def _from_pretrained(cls: type, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any) -> Any:
    return _open(pretrained_model_name_or_path, *inputs, **kwargs)


_from_pretrained.__name__ = "from_pretrained"
_from_pretrained.__qualname__ = "AutoTokenizer.from_pretrained"
_from_pretrained.__doc__ = _stock_from_pretrained.__func__.__doc__
_ours: Any = classmethod(_from_pretrained)


def install() -> None:
    """Make `transformers.AutoTokenizer.from_pretrained` return our tokenizers, everywhere in this process.

    `tokenizers.decoders.DecodeStream`, which transformers streams text with, becomes a class that takes our tokenizers
    as well as those of the ``tokenizers`` library. A module that has imported that name before keeps the stock class.
    """
    global _stock_from_pretrained
    with _lock:
        current = _Stock.__dict__["from_pretrained"]
        if current is not _ours:
            _stock_from_pretrained = current
            _Stock.from_pretrained = _ours
        streams.install()


def uninstall() -> None:
    """Undo `install`. Tokenizers that are open stay what they are."""
    with _lock:
        if _Stock.__dict__["from_pretrained"] is _ours:
            _Stock.from_pretrained = _stock_from_pretrained
        streams.uninstall()
