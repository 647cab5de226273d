"""`AutoTokenizer`, with fast tokenizers of this package."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from transformers.models.auto import tokenization_auto

from crayon_hf.transformers import loading
from crayon_hf.transformers.fast import CrayonTokenizerFast
from crayon_hf.util.replacing import stock

_Stock: Any = tokenization_auto.AutoTokenizer


def open_auto(from_pretrained: Callable[..., Any], name: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the stock `AutoTokenizer.from_pretrained` gives, as ours."""
    if isinstance(name, (str, os.PathLike)) and os.fspath(name).endswith(".dat") and os.path.isfile(name):
        return CrayonTokenizerFast.from_pretrained(name, *inputs, **kwargs)
    return loading.load(from_pretrained, "auto", name, inputs, kwargs)


class AutoTokenizer(_Stock):  # type: ignore[misc]
    """`transformers.AutoTokenizer` with faster tokenizers: the same classes, results, arguments and errors.

    Slow tokenizers (those that transformers has in Python only) are returned unchanged. See docs/drop-in.md.
    """

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any) -> Any:
        """Open the tokenizer of a Hub id or a directory, or a cartridge (``.dat``) by its path.

        The arguments are those of `transformers.AutoTokenizer.from_pretrained`.
        """
        return open_auto(stock(_Stock, "from_pretrained"), pretrained_model_name_or_path, inputs, kwargs)
