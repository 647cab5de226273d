"""Opens a BPE vocabulary, changes its tokens and ids, and builds a tokenizer from the result."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.errors import DelegatedWarning, UnsupportedError, VocabularyError
from crayon_hf.formats import convert
from crayon_hf.formats.repository import as_transformers_saves
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer_json import document as tokenizer_json
from crayon_hf.tokenizer_json.parts import parsed, split
from crayon_hf.util.collector import CollectorPause

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import tokenizers

Named = Tokenizer | str | os.PathLike[str]
"""A tokenizer, or the path or name of one."""

_WORDS = "▁*[^▁]+|▁+"


@dataclass(frozen=True)
class VocabularyChange:
    """The result of `extend` and `shrink`: a new tokenizer, and the new id of each old one.

    >>> change = crayon_hf.shrink("lite", vocab_size=5_000)
    >>> old = crayon_hf.Tokenizer.from_profile("lite")
    >>> change.id_map[old.encode("in the end").ids].tolist() == change.tokenizer.encode("in the end").ids
    True
    """

    tokenizer: Tokenizer
    id_map: npt.NDArray[np.int64]
    """The new id of each old id, of shape (highest old id + 1,). It is -1 for a lost token or an unused id."""
    new_tokens: int
    """The number of tokens that only the new vocabulary has."""
    lost_tokens: int
    """The number of tokens that only the old vocabulary has."""
    files: list[str] = field(default_factory=list)
    """The paths of the files that were written."""


@dataclass(frozen=True)
class Vocabulary:
    """A BPE vocabulary to change: its ``tokenizer.json``, and the engine that encodes with it."""

    document: dict[str, Any]
    config: dict[str, Any]
    """The contents of ``tokenizer_config.json``, or an empty dict if the tokenizer has no such file."""
    engine: _core.Engine

    @property
    def model(self) -> dict[str, Any]:
        """The model's part of the document, with its vocabulary and merges."""
        model: dict[str, Any] = self.document["model"]
        return model

    @property
    def prefix(self) -> str:
        """The prefix of tokens that do not begin a word."""
        return self.model.get("continuing_subword_prefix") or ""

    @property
    def suffix(self) -> str:
        """The suffix of tokens that end a word."""
        return self.model.get("end_of_word_suffix") or ""

    def ids(self) -> dict[str, int]:
        """Return the ids of all tokens, added ones included."""
        added = {token["content"]: token["id"] for token in self.document["added_tokens"]}
        return {**self.model["vocab"], **added}

    def byte_ids(self) -> list[int]:
        """Return the ids of the byte tokens ``<0x00>`` to ``<0xFF>``, or an empty list without byte fallback."""
        names = [f"<0x{byte:02X}>" for byte in range(256)] if self.model.get("byte_fallback") else []
        return [id for name in names if (id := self.model["vocab"].get(name)) is not None] if names else []

    def unmerged_ids(self) -> set[int]:
        """Return the ids of the model's tokens that are not a part of any merge, without added tokens."""
        parts = {part for merge in self.model["merges"] for part in merge}
        parts |= {token["content"] for token in self.document["added_tokens"]}
        return {id for token, id in self.model["vocab"].items() if token not in parts}

    def counting_engine(self) -> _core.Engine:
        """Return an engine for counting words that also cuts text before each run of U+2581, so that words are shorter.

        If such cuts could change the ids of a text, return the vocabulary's own engine.
        """
        plain = self.model["vocab"].keys() - {token["content"] for token in self.document["added_tokens"]}
        part = self.document["pre_tokenizer"]
        is_cut = isinstance(part, dict) and part.get("type") == "Metaspace"
        crosses = any("▁" in token.lstrip("▁") for token in plain)
        if is_cut or crosses or self.model.get("ignore_merges") or not any("▁" in token for token in plain):
            return self.engine
        components = parsed(self.engine.components, "the components")
        parts = [split(_WORDS)] if part is None else [part, split(_WORDS)]
        components["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": parts}
        return self.engine.with_components(tokenizer_json.dump(components))


def open_vocabulary(tokenizer: Named | tokenizers.Tokenizer) -> Vocabulary:
    """Open a tokenizer's vocabulary, without changing the tokenizer. Raise UnsupportedError unless it is native BPE."""
    config: dict[str, Any] = {}
    with warnings.catch_warnings(), CollectorPause():
        warnings.simplefilter("ignore", DelegatedWarning)  # the UnsupportedError below says it
        if isinstance(tokenizer, (str, os.PathLike)):
            converted = convert(tokenizer)
            if converted.inexact:
                raise UnsupportedError(f"{os.fspath(tokenizer)}: {converted.inexact}")
            config = dict(converted.config)
            data = as_transformers_saves(converted.tokenizer_json, config)
        else:
            ours = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer.from_tokenizers(tokenizer)
            data = ours.to_str().encode()
        document = parsed(data, "the tokenizer.json")
        kind = _kind(document["model"])
        if kind != "BPE":
            raise UnsupportedError(
                f"the model is {kind}: only a BPE vocabulary can be extended or shrunk, because its merges say "
                f"which tokens others are made of, and {kind} has none"
            )
        if document["model"].get("dropout"):
            raise UnsupportedError("the model has dropout, which encodes at random: set model.dropout to None")
        document["model"]["merges"] = [[*tokenizer_json.pair_of(merge)] for merge in document["model"]["merges"]]
        return Vocabulary(document, config, native_engine(Tokenizer.from_buffer(data)))


def _kind(model: dict[str, Any]) -> str:
    """Return the type of a model. Old files do not name it."""
    if name := model.get("type"):
        return str(name)
    if "merges" in model:
        return "BPE"
    return "Unigram" if isinstance(model.get("vocab"), list) else "WordPiece"


def native_engine(tokenizer: Tokenizer) -> _core.Engine:
    engine = tokenizer._current_engine()
    if not isinstance(engine, _core.Engine):
        raise UnsupportedError(f"the engine does not support this tokenizer ({engine.reason})")
    return engine


def rebuilt(document: dict[str, Any]) -> Tokenizer:
    """Return the tokenizer of a document. Its added tokens have the document's ids in other libraries as well.

    Other libraries ignore the document's id of an added token that the model lacks: they give it the next free id. If
    such an id differs from the document's, this function adds the added tokens to the model's vocabulary, without
    merges.
    """
    with CollectorPause():
        tokens = sorted(document["added_tokens"], key=lambda token: int(token["id"]))
        added = {token["content"]: token["id"] for token in tokens}
        vocab = document["model"]["vocab"]
        if tokenizer_json.library_ids(vocab, added) != [*added.values()]:
            vocab = vocab | added
        model = document["model"] | {"vocab": dict(sorted(vocab.items(), key=lambda entry: entry[1]))}
        return Tokenizer.from_buffer(tokenizer_json.dump(document | {"added_tokens": tokens, "model": model}).encode())


def with_config_tokens(old: Vocabulary) -> Vocabulary:
    """Add the tokens that only the ``tokenizer_config.json`` lists, as transformers does when it opens a tokenizer."""
    listed = old.config.get("added_tokens_decoder")
    ids = old.ids()
    rows = [row for _, row in sorted(listed.items(), key=lambda item: int(item[0]))] if listed else []
    missing = [row for row in rows if row["content"] not in {t["content"] for t in old.document["added_tokens"]}]
    if not missing:
        return old
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    following, added = max(ids.values()) + 1, list(old.document["added_tokens"])
    for row in missing:
        id = ids.get(row["content"], following)
        following += id == following
        added.append({"id": id, "content": row["content"], **{name: bool(row.get(name, False)) for name in flags}})
    document = old.document | {"added_tokens": sorted(added, key=lambda token: int(token["id"]))}
    return Vocabulary(document, old.config, native_engine(rebuilt(document)))


def mapped_document(document: dict[str, Any], new_id: dict[int, int]) -> dict[str, Any]:
    """Return a ``tokenizer.json`` with new ids: `new_id` has the new id of each old one. Other tokens are removed."""
    model = document["model"]
    vocab = {token: new_id[id] for token, id in model["vocab"].items() if id in new_id}
    prefix = len(model.get("continuing_subword_prefix") or "")
    merges = [
        [left, right]
        for left, right in model["merges"]
        if left in vocab and right in vocab and left + right[prefix:] in vocab
    ]
    padding = document.get("padding")
    return document | {
        "added_tokens": [token | {"id": new_id[token["id"]]} for token in document["added_tokens"]],
        "post_processor": _mapped_part(document.get("post_processor"), new_id.__getitem__),
        "padding": padding and padding | {"pad_id": new_id[padding["pad_id"]]},
        "model": model | {"vocab": vocab, "merges": merges},
    }


def mapped_config(config: dict[str, Any], ids: dict[str, int]) -> dict[str, Any]:
    """Return a ``tokenizer_config.json`` with new ids for its added tokens: `ids` has them by the tokens' contents."""
    listed = config.get("added_tokens_decoder")
    if not listed:
        return config
    return config | {"added_tokens_decoder": {str(ids[row["content"]]): row for row in listed.values()}}


def _mapped_part(part: Any, new_id: Callable[[int], int]) -> Any:
    """Return a post-processor in which the result of `new_id` replaces each id."""
    if not isinstance(part, dict):
        return part
    mapped = dict(part)
    if "processors" in part:
        mapped["processors"] = [_mapped_part(inner, new_id) for inner in part["processors"]]
    mapped |= {name: [part[name][0], new_id(part[name][1])] for name in ("cls", "sep") if name in part}
    if isinstance(tokens := part.get("special_tokens"), dict):
        mapped["special_tokens"] = {
            name: token | {"ids": [*map(new_id, token["ids"])]} for name, token in tokens.items()
        }
    return mapped


def ids_of_components(document: dict[str, Any]) -> set[int]:
    """Return the ids that the post-processor and the padding add to texts, and the id of the unknown token."""
    found: list[int] = []
    _mapped_part(document.get("post_processor"), lambda id: found.append(id) or id)  # type: ignore[func-returns-value]
    if padding := document.get("padding"):
        found.append(padding["pad_id"])
    unknown = document["model"]["vocab"].get(document["model"].get("unk_token"))
    return {*found} if unknown is None else {*found, unknown}


def check_ids(found: set[int], known: set[int]) -> None:
    """Raise a VocabularyError if an id that the components name (`found`) belongs to no token (`known`)."""
    if unknown := sorted(found - known):
        raise VocabularyError(
            f"the post-processor or the padding adds the id {unknown[0]}, which no token has: set them first"
        )
