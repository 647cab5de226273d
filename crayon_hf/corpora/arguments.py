"""What a caller gives to say which tokenizer, which end of text and which columns: the same for every library."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from crayon_hf.corpora.job.end_of_text import find_eos
from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.addresses import is_local
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.resolve import open_tokenizer


def opened(tokenizer: Any) -> Any:
    """What a name or a path means; anything else as it is."""
    return open_tokenizer(tokenizer) if isinstance(tokenizer, str) else tokenizer


def end_of_text(given: Any, tokenizer: Tokenizer, append_eos: bool, eos: str | None) -> tuple[int, ...]:
    """The ids that each text gets at its end: that of `eos`, or of what `given`, its name or its files call so.

    `tokenizer` is what `given` comes to. JobError when it is not clear which token that is.
    """
    if not append_eos and eos is None:
        return ()
    known = None if eos is not None else getattr(given, "eos_token_id", None)
    return (find_eos(tokenizer, given if isinstance(given, str) else None, eos) if known is None else int(known),)


def check_columns(names: Sequence[str], wanted: Sequence[str]) -> None:
    """CorpusError unless each of `wanted` is the name of one column."""
    for name in wanted:
        if (count := list(names).count(name)) != 1:
            there = "more than one column" if count else "no column"
            raise CorpusError(f"there is {there} {name!r}: the columns are {', '.join(names) or 'none'}")


def absolute(one: Any) -> Any:
    """A path as other processes find it, too."""
    if isinstance(one, InputFile):
        return one._replace(address=absolute(one.address))
    if isinstance(one, (str, os.PathLike)) and is_local(address := os.fsdecode(one)) and "://" not in address:
        return os.path.abspath(address)
    return one


def all_absolute(inputs: Any) -> Any:
    """The same of inputs, or of each source of a mixture."""
    if isinstance(inputs, Mapping):
        return {
            name: {**source, "inputs": all_absolute(source["inputs"])}
            if isinstance(source, Mapping) and "inputs" in source
            else source
            for name, source in inputs.items()
        }
    return [absolute(one) for one in ([inputs] if isinstance(inputs, (str, os.PathLike, InputFile)) else inputs)]
