"""``tokenizers.Tokenizer.from_*``: a program's calls give ours; those of transformers and of this package do not."""

from __future__ import annotations

import sys
from typing import Any

from crayon_hf.util.replacing import Replacement, like

_STOCK_FOR = ("crayon_hf", "transformers")
"""What builds its own on the library's very class: transformers makes a tokenizer of it, and we make that ours."""


def _opener(name: str) -> Replacement:
    def make(seen: Any) -> Any:
        stock = seen.__func__ if isinstance(seen, staticmethod) else seen

        def opener(*args: Any, **kwargs: Any) -> Any:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if caller.partition(".")[0] in _STOCK_FOR:
                return stock(*args, **kwargs)
            from crayon_hf.tokenizer import Tokenizer

            return getattr(Tokenizer, name)(*args, **kwargs)

        return like(seen, opener)

    return Replacement("tokenizers", "Tokenizer", name, make)


PLACES = {
    f"tokenizers.Tokenizer.{name}": _opener(name)
    for name in ("from_file", "from_str", "from_buffer", "from_pretrained")
}
