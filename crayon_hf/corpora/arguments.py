"""Arguments that the functions for ``datasets``, Ray and Spark share: tokenizers, ends of text, columns and paths."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from crayon_hf.corpora.job.end_of_text import find_eos
from crayon_hf.text_readers.addresses import is_local
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.resolve import open_tokenizer


def opened(tokenizer: Any) -> Any:
    """Open a tokenizer given by name or path. Return any other value unchanged."""
    return open_tokenizer(tokenizer) if isinstance(tokenizer, str) else tokenizer


def end_of_text(given: Any, tokenizer: Tokenizer, append_eos: bool, eos: str | None) -> tuple[int, ...]:
    """Return a tuple of the id to append to each text: that of `eos`, else the tokenizer's own end of text.

    The tuple is empty if the caller asks for no end of text.

    `given` is the tokenizer as the caller passed it: its attributes, name or files may tell the token. `tokenizer` is
    the open tokenizer.

    Raises:
        JobError: The end-of-text token is not known.
    """
    if not append_eos and eos is None:
        return ()
    known = None if eos is not None else getattr(given, "eos_token_id", None)
    return (find_eos(tokenizer, given if isinstance(given, str) else None, eos) if known is None else int(known),)


def absolute(one: Any) -> Any:
    """Make a local path absolute, for processes with other working directories. Return other values unchanged."""
    if isinstance(one, InputFile):
        return one._replace(address=absolute(one.address))
    if isinstance(one, (str, os.PathLike)) and is_local(address := os.fsdecode(one)) and "://" not in address:
        return os.path.abspath(address)
    return one


def all_absolute(inputs: Any) -> Any:
    """Make the paths of all inputs absolute; in a mixture, those of each source."""
    if isinstance(inputs, Mapping):
        return {
            name: {**source, "inputs": all_absolute(source["inputs"])}
            if isinstance(source, Mapping) and "inputs" in source
            else source
            for name, source in inputs.items()
        }
    return [absolute(one) for one in ([inputs] if isinstance(inputs, (str, os.PathLike, InputFile)) else inputs)]
