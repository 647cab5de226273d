"""Whether the methods of transformers that our fast paths skip are the original ones.

Programs replace these methods on a class or on an instance, and subclasses override them. In these cases the code of
transformers runs on the same engine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from transformers import PreTrainedTokenizerFast

from crayon_hf._core import type_version
from crayon_hf.transformers.pristine import is_own

_ENCODING = (
    *("_encode_plus", "_batch_encode_plus", "_call_one", "encode_plus", "batch_encode_plus", "_convert_encoding"),
    *("set_truncation_and_padding", "_get_padding_truncation_strategies", "_eventual_warn_about_too_long_sequence"),
    "_switch_to_input_mode",
)
_DECODING = ("decode", "_decode")
_CONVERTING = (
    *("convert_ids_to_tokens", "convert_tokens_to_ids", "_convert_token_to_id_with_added_voc"),
    "_encode_without_added_tokens",
)
_OURS = ("__call__", "encode", "decode", "_decode", "batch_decode", *_CONVERTING)
"""Methods that `CrayonTokenizerFast` itself defines, and so skips in its base class."""

REPLACED = "_crayon_replaced"
NAMES = frozenset((*_ENCODING, *_DECODING, *_CONVERTING))
"""Names of methods. An instance with an attribute of such a name gets no fast paths."""

_HARMLESS = frozenset(
    f"{name}TokenizerFast"
    for name in (
        *("Bart", "Blenderbot", "Bloom", "CodeGen", "Cohere", "Deberta", "GPT2", "LED", "Longformer", "Mvp"),
        *("Roberta", "Whisper"),
    )
)
"""Classes of transformers 4 that override two methods only to refuse `is_split_into_words` without a prefix space."""


class Methods(NamedTuple):
    """The fast paths that the methods of a class allow."""

    base_is_own: bool
    encodes: bool
    decodes: bool
    converts: bool


_known: dict[int, Methods] = {}
"""The results of `methods_of` by the version of a class. Versions are unique and change when a class or its base
does."""


def methods_of(cls: type) -> Methods:
    """Return the fast paths that the methods of a class allow now."""
    return _known.get(type_version(cls)) or _look(cls)


def encodes_plainly(tokenizer: Any, backend: Any) -> bool:
    """Whether a call may skip the encoding methods of transformers and of the backend."""
    return (
        (_known.get(type_version(type(tokenizer))) or _look(type(tokenizer)))[1]
        and "encode_batch" not in backend.__dict__
        and REPLACED not in tokenizer.__dict__
    )


def decodes_plainly(tokenizer: Any) -> bool:
    """Whether a call may skip the decoding methods."""
    return methods_of(type(tokenizer)).decodes and REPLACED not in tokenizer.__dict__


def converts_plainly(tokenizer: Any) -> bool:
    """Whether a call may skip the conversions between tokens and ids."""
    return methods_of(type(tokenizer)).converts and REPLACED not in tokenizer.__dict__


def note_replaced(tokenizer: Any) -> None:
    """Note whether an instance has attributes that replace methods."""
    state = tokenizer.__dict__
    if NAMES.isdisjoint(state):
        state.pop(REPLACED, None)
    else:
        state[REPLACED] = True


def _look(cls: type) -> Methods:
    version, base = type_version(cls), _are_own(PreTrainedTokenizerFast, _OURS)
    found = Methods(base, *(base and _are_own(cls, names) for names in (_ENCODING, _DECODING, _CONVERTING)))
    if version >= 0:
        _known[version] = found
    return found


def _are_own(cls: type, names: tuple[str, ...]) -> bool:
    return all(_is_own(cls, name) for name in names if hasattr(cls, name))


def _is_own(cls: type, name: str) -> bool:
    owner = next(base for base in cls.__mro__ if name in base.__dict__)
    if owner.__module__.startswith("transformers.models.") and owner.__name__ in _HARMLESS:
        return True
    return owner.__module__.startswith(("transformers.tokenization_", "crayon_hf.")) and is_own(owner.__dict__[name])
