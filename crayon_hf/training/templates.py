"""Makes the tokenizer without a vocabulary from which a training begins: a new one, or a copy of a template."""

from __future__ import annotations

import copy
import json
import os
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf.errors import DelegatedWarning, VocabularyError
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.opening import open_untrained
from crayon_hf.tokenizer_json.components import pattern_of
from crayon_hf.tokenizer_json.parts import BPE, split
from crayon_hf.tokenizer_json.parts import byte_level as byte_level_part
from crayon_hf.tokenizer_state import state
from crayon_hf.util import validation

if TYPE_CHECKING:
    import tokenizers
    from tokenizers import AddedToken

DEFAULT_PATTERN = "llama3"
"""The pattern of the profile `lite`."""

_ALIASES = {"gpt2": "gpt-2", "cl100k": "llama3", "o200k": "gpt-4o"}


class Start(NamedTuple):
    """A tokenizer to train."""

    tokenizer: Tokenizer
    special_tokens: list[AddedToken]
    """The template's special tokens, which come first."""
    post_processor: dict[str, Any] | None = None
    """The template's post-processor, to be set after training, when the ids that it contains are known."""
    unk_token: str | None = None
    """The unknown token of a Unigram template. Its model stores only the id of this token."""


def pattern_names() -> list[str]:
    """Return the names of patterns that `byte_level` takes.

    docs/training.md has an example.
    """
    from crayon_hf.formats.gguf_patterns import PRE_TOKENIZERS

    published = {name for name, meaning in PRE_TOKENIZERS.items() if not meaning.spaces_escaped}
    return sorted(published | _ALIASES.keys())


def byte_level(pattern: str | tokenizers.Regex | None, pre_tokenizer: Any = None) -> Tokenizer:
    """Return a byte-level BPE tokenizer without a vocabulary.

    `pattern` is the name of a published pattern, or a ``tokenizers.Regex``.
    """
    document: dict[str, Any] = {"model": {**BPE, "vocab": {}, "merges": []}}
    if pre_tokenizer is None:
        document["pre_tokenizer"] = _cuts(pattern)
    if pre_tokenizer is None or "ByteLevel" in str(pre_tokenizer):
        document["decoder"] = byte_level_part(add_prefix_space=True, use_regex=True)
        document["post_processor"] = byte_level_part(add_prefix_space=True, trim_offsets=False, use_regex=True)
    tokenizer = Tokenizer._of(open_untrained(document))
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    return tokenizer


def _cuts(pattern: Any) -> dict[str, Any]:
    from difflib import get_close_matches

    from crayon_hf.formats.gguf_patterns import GPT2, PRE_TOKENIZERS

    own = pattern_of(pattern)
    if own is not None:
        patterns: Iterable[str] = (own,)
    else:
        name = validation.text(DEFAULT_PATTERN if pattern is None else pattern, "pattern")
        if name not in pattern_names():
            near = get_close_matches(name, pattern_names(), 3, 0.4) or ["gpt2", "llama3", "o200k"]
            raise ValueError(
                f"unknown pattern {name[:80]!r}; try {', '.join(near)}, or pass your own as a tokenizers.Regex"
            )
        patterns = PRE_TOKENIZERS[_ALIASES.get(name, name)].patterns
        if patterns == (GPT2,):
            return byte_level_part(use_regex=True)
    return {"type": "Sequence", "pretokenizers": [*map(split, patterns), byte_level_part()]}


def like(template: Any, kind: str) -> Start:
    """Copy a template without its vocabulary, for training. `kind` is the required type of model.

    The template is a `Tokenizer`, a ``tokenizers.Tokenizer``, or the path of a file.

    As with ``train_new_from_iterator`` of transformers, special tokens are copied, and other added tokens are not.
    """
    if isinstance(template, (str, os.PathLike)):
        template = Tokenizer.from_file(template)
    elif not isinstance(template, Tokenizer):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DelegatedWarning)  # a template never encodes
            template = Tokenizer.from_tokenizers(template)
    with state.lock:
        id = template._state.untrained(False).parts["model"].get("unk_id")
        unknown = None if id is None else template.id_to_token(id)
        emptied = template._state.emptied()
        tokens = list(template._state.added().decoder().values())
        parts = emptied.untrained(False).parts
    if parts["model"].get("type") != kind:
        raise VocabularyError(f"the template has a {parts['model'].get('type')} model, expected {kind}")
    tokenizer = Tokenizer._of(emptied)
    tokenizer._restore(template._settings())
    special_tokens = [token for token in tokens if token.special]
    return Start(tokenizer, special_tokens, copy.deepcopy(parts["post_processor"]), unknown)


def settle_ids(start: Start) -> None:
    """Update the ids in a template's post-processor and padding to those of the new vocabulary."""
    tokenizer = start.tokenizer
    if start.post_processor is not None:
        _put_ids(start.post_processor, tokenizer)
        tokenizer._put_component("post_processor", start.post_processor)
    padding = tokenizer._padding
    if padding is not None and (id := tokenizer.token_to_id(padding.pad_token)) is not None:
        tokenizer._padding = padding._replace(pad_id=id)


def _put_ids(part: dict[str, Any], tokenizer: Tokenizer) -> None:
    for inner in part.get("processors", ()):
        _put_ids(inner, tokenizer)
    for name in ("cls", "sep"):
        if name in part:
            part[name] = [part[name][0], _id(part[name][0], tokenizer)]
    special_tokens = part.get("special_tokens", {})
    for special in special_tokens.values() if isinstance(special_tokens, dict) else special_tokens:
        special["ids"] = [_id(token, tokenizer) for token in special["tokens"]]


def _id(token: str, tokenizer: Tokenizer) -> int:
    id = tokenizer.token_to_id(token)
    if id is None:
        raise VocabularyError(
            f"the post-processor adds {token!r}, which is not in the vocabulary: give it in special_tokens"
        )
    return id


def has_byte_level(tokenizer: Tokenizer) -> bool:
    """Whether the pre-tokenizer is or contains ``ByteLevel``, which spells each byte as one of 256 characters."""
    with state.lock:
        part = tokenizer._state.untrained(False).parts["pre_tokenizer"]
    return '"ByteLevel"' in json.dumps(part)
