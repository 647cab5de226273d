"""`train_new_from_iterator` for BPE models: transformers' own code, with our tokenizer instead of the reference's.

That code makes an untrained ``tokenizers.Tokenizer``, trains it and opens the result. It runs unchanged except for the
global name of that class.
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
    """Replaces ``tokenizers.Tokenizer``."""

    @staticmethod
    def from_str(text: str) -> Tokenizer:
        document = json.loads(text)
        if document["model"].get("vocab"):
            return Tokenizer.from_str(text)
        return Tokenizer._of(opening.open_untrained(document))


def natively(tokenizer: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the bound `method` of transformers with native training, or unchanged for models that are not BPE."""
    names = getattr(getattr(method, "__func__", None), "__globals__", {})
    if names.get(_NAME) is not reference_class() or model_kind(tokenizer._tokenizer) != "BPE":
        return method
    ours: Callable[..., Any] = with_names(method, {_NAME: _Opener})
    return ours
