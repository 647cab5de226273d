"""The tokenizer classes of ``transformers``, on the engine of this package.

Importing this package imports nothing else; each name is imported at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crayon_hf.util.extras import needed
from crayon_hf.util.lazy import lazy

if TYPE_CHECKING:
    from crayon_hf.transformers.auto import AutoTokenizer
    from crayon_hf.transformers.fast import CrayonTokenizerFast

__all__ = ["AutoTokenizer", "CrayonTokenizerFast"]

_find = lazy(
    __name__, {"AutoTokenizer": "crayon_hf.transformers.auto", "CrayonTokenizerFast": "crayon_hf.transformers.fast"}
)


def __getattr__(name: str) -> Any:
    with needed(name, "transformers"):
        return _find(name)
