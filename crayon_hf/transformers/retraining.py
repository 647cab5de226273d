"""`train_new_from_iterator` for BPE models: transformers' own code, over our tokenizer instead of the reference's.

That code makes an untrained ``tokenizers.Tokenizer``, trains it and opens the result. It runs here as it is, but for
the one name by which it knows that class.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from crayon_hf.tokenizer import Tokenizer, opening
from crayon_hf.transformers.backend import model_kind
from crayon_hf.transformers.rebinding import with_names
from crayon_hf.util.reference import reference_class

_NAME = "TokenizerFast"


class _Opener:
    """What stands in the place of ``tokenizers.Tokenizer``."""

    @staticmethod
    def from_str(text: str) -> Tokenizer:
        document = json.loads(text)
        if document["model"].get("vocab"):
            return Tokenizer.from_str(text)
        return Tokenizer._of(opening.open_untrained(document))


def natively(tokenizer: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """The bound `method` of transformers so that it trains natively; as it is where there is no native way."""
    names = getattr(getattr(method, "__func__", None), "__globals__", {})
    if names.get(_NAME) is not reference_class() or model_kind(tokenizer._tokenizer) != "BPE":
        return method
    ours: Callable[..., Any] = with_names(method, {_NAME: _Opener})
    return ours
