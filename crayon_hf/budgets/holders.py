"""Get the engine of a `Tokenizer`, a tokenizer of transformers, or an encoding of `crayon_hf.tiktoken`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crayon_hf.cartridges.opened_source import AnyEngine


def engine_of(tokenizer: Any) -> tuple[AnyEngine, bool]:
    """The engine of a tokenizer, and whether special tokens in a text are ordinary text.

    They are ordinary text for an encoding of `crayon_hf.tiktoken`, as in its ``encode_ordinary``, and for a tokenizer
    of transformers with ``split_special_tokens``.
    """
    if hasattr(type(tokenizer), "_current_engine"):
        return tokenizer._current_engine(), tokenizer._special_as_text
    backend: Any = getattr(tokenizer, "_tokenizer", None)
    if hasattr(type(backend), "_current_engine"):
        as_text = bool(getattr(tokenizer, "split_special_tokens", True))  # an encoding of tiktoken lacks the attribute
        return backend._current_engine(), as_text
    raise TypeError(
        f"tokenizer is {type(tokenizer).__name__}, expected a crayon_hf.Tokenizer, a tokenizer from "
        "crayon_hf.AutoTokenizer, or an encoding of crayon_hf.tiktoken (crayon_hf.Tokenizer.from_tokenizers converts "
        "one of tokenizers)"
    )
