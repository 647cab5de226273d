"""Reads the parts of a ``tokenizer.json`` that more than one exporter needs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from crayon_hf import _core
from crayon_hf.errors import CrayonError, UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.piece_types import CONTROL, USER_DEFINED
from crayon_hf.formats.repository import ROLES, as_the_library_writes
from crayon_hf.tokenizer_json.document import ids_of, library_ids

Document = dict[str, Any]
FLAGS = ("lstrip", "rstrip", "single_word")
"""The flags of an added token for the white space that it includes, and for matching whole words only."""


class Opened(Protocol):
    """The interface of an open `crayon_hf.Tokenizer`, which this folder may not import."""

    def to_str(self, pretty: bool = False) -> str: ...

    def _current_engine(self) -> Any: ...


class Exactness:
    """Collects the cases in which an exported file gives other ids. Unless `inexact`, the first case raises."""

    def __init__(self, inexact: bool) -> None:
        self._inexact = inexact
        self.differences: list[str] = []
        """The cases, in the order in which the exporter found them."""

    def differs(self, case: str) -> None:
        """Note a case. Raises UnsupportedError unless the caller asked for inexact files."""
        if not self._inexact:
            raise UnsupportedError(f"{case} (--inexact or inexact=True writes the file nevertheless)")
        self.differences.append(case)


def converted_of(vocabulary: Converted | Opened) -> Converted:
    """Return a vocabulary in the form that `convert` returns."""
    if isinstance(vocabulary, Converted):
        return vocabulary
    metadata = json.loads(vocabulary._current_engine().metadata)
    reference = metadata.pop("reference", "tokenizers")
    return Converted(vocabulary.to_str().encode(), {}, reference, None, MappingProxyType(metadata))


def document_of(converted: Converted) -> Document:
    """Parse the ``tokenizer.json``. Raises VocabularyError if it is malformed."""
    with reading():
        document = json.loads(converted.tokenizer_json)
        if "type" not in document["model"]:  # in an old file; the library adds the type
            document = json.loads(as_the_library_writes(converted.tokenizer_json))
        if "vocab" not in document["model"]:
            raise KeyError("vocab")
        tokens = document.get("added_tokens") or []
        found = library_ids(ids_of(document["model"]), [token["content"] for token in tokens])
        document["added_tokens"] = [
            {**token, "id": id if type(token["id"]) is int else token["id"]}
            for token, id in zip(tokens, found, strict=True)
        ]
        ids = [*ids_of(document["model"]).values(), *added_tokens(document).values()]
    if not all(type(id) is int and 0 <= id < 2**31 for id in ids):
        raise VocabularyError("the tokenizer.json has ids that are not integers")
    result: Document = document
    return result


def opened_document(vocabulary: Converted | Opened) -> tuple[Converted, Document]:
    """Return a vocabulary, and its ``tokenizer.json`` as the library writes it.

    Raises VocabularyError if the library cannot open the ``tokenizer.json``.
    """
    converted = converted_of(vocabulary)
    if vocabulary is converted:
        with reading():
            converted = converted._replace(tokenizer_json=as_the_library_writes(converted.tokenizer_json))
    return converted, document_of(converted)


@contextmanager
def reading() -> Iterator[None]:
    """Turn the errors of a malformed ``tokenizer.json`` into a VocabularyError."""
    try:
        yield
    except CrayonError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise VocabularyError(f"the tokenizer.json is malformed: {error!r}") from error


def added_tokens(document: Mapping[str, Any]) -> dict[str, int]:
    """Return the ids of the added tokens by their texts."""
    return {token["content"]: token["id"] for token in document.get("added_tokens") or []}


def added_kinds(document: Mapping[str, Any]) -> dict[str, int]:
    """Return the kinds of the added tokens: CONTROL for special tokens, USER_DEFINED for others."""
    return {token["content"]: CONTROL if token.get("special") else USER_DEFINED for token in document["added_tokens"]}


def check_ids(ids: Mapping[Any, int]) -> None:
    """Raise an UnsupportedError if two tokens have the same id."""
    seen: dict[int, Any] = {}
    for token, id in ids.items():
        if seen.setdefault(id, token) != token:
            raise UnsupportedError(f"tokens {seen[id]!r} and {token!r} have the same id, {id}")


def texts_by_id(document: Mapping[str, Any], fill: str = "") -> list[str]:
    """Return the texts of all tokens in the order of their ids.

    `fill` is the text for an unused id; ``{}`` in it becomes the id. Raises UnsupportedError if an id is unused and
    `fill` is empty, or if one text has two ids.
    """
    added = added_tokens(document)
    texts = {id: text for text, id in ids_of(document["model"]).items() if added.get(text) != id}
    check_ids({text: id for id, text in texts.items()} | added)
    texts |= {id: text for text, id in added.items()}
    ids: dict[str, int] = {}
    result: list[str] = []
    for id in range(max(texts, default=-1) + 1):
        if id not in texts and not fill:
            raise UnsupportedError(f"no token has the id {id}, and a file of pieces needs every id up to the last")
        text = texts.get(id, fill.format(id))
        if not text or "\0" in text:
            raise UnsupportedError(f"token {text!r}: no piece is empty or has a NUL character")
        if ids.setdefault(text, id) != id:
            raise UnsupportedError(f"token {text!r} has two ids, {ids[text]} and {id}")
        result.append(text)
    return result


def steps(document: Mapping[str, Any], component: str, list_name: str) -> list[dict[str, Any]]:
    """Return the steps of a component of the ``tokenizer.json``. Sequences are replaced by their members.

    `list_name` is the key of a sequence's list of members.
    """
    found, waiting = [], [document.get(component)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and part.get("type") == "Sequence":
            waiting += reversed(part.get(list_name) or [])
        elif isinstance(part, dict):
            found.append(part)
    return found


def pre_tokenizers(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the pre-tokenizers, without sequences around them."""
    return steps(document, "pre_tokenizer", "pretokenizers")


def normalizers(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the normalizers, without sequences around them."""
    return steps(document, "normalizer", "normalizers")


def refuse_options(model: Mapping[str, Any], options: Sequence[str], target: str) -> None:
    """Raise an UnsupportedError if a BPE model uses one of these options, which the library `target` does not have."""
    for option in options:
        if model.get(option):
            raise UnsupportedError(f"the vocabulary has {option}, which {target} does not have")


class Frame(NamedTuple):
    """The ids that a post-processor puts before and after a text."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


def frame_of(document: Mapping[str, Any]) -> Frame:
    """Return the ids that the post-processor puts around a single text."""
    frame = Frame()
    for step in steps(document, "post_processor", "processors"):
        if step["type"] == "TemplateProcessing":
            frame = _templated(step, frame)
        elif step["type"] in ("BertProcessing", "RobertaProcessing"):
            frame = Frame((step["cls"][1], *frame.before), (*frame.after, step["sep"][1]))
    return frame


def _templated(step: Mapping[str, Any], inner: Frame) -> Frame:
    sides: tuple[list[int], list[int]] = [], []
    texts = 0
    for part in step["single"]:
        if "Sequence" in part:
            texts += 1
        else:
            sides[texts > 0].extend(step["special_tokens"][part["SpecialToken"]["id"]]["ids"])
    if texts != 1:
        raise UnsupportedError("the post-processor TemplateProcessing: it gives a text more than once, or not at all")
    return Frame((*sides[0], *inner.before), (*inner.after, *sides[1]))


def roles_of(converted: Converted, document: Mapping[str, Any]) -> dict[str, int]:
    """Return the ids of the special tokens that a ``tokenizer_config.json`` names, by role."""
    ids = ids_of(document["model"]) | added_tokens(document)
    return {role: ids[text] for role, text in _named(converted.config) if text in ids}


def _named(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for role in ROLES:
        value = config.get(f"{role}_token")
        text = value.get("content") if isinstance(value, Mapping) else value
        if isinstance(text, str):
            yield role, text


def unmerged(model: Mapping[str, Any], tokens: Sequence[str]) -> str | None:
    """Return the first of these tokens that the merges of a BPE model do not make, or None."""
    merging = _core.TextModel(json.dumps({**model, "ignore_merges": False}))
    return next((token for token in tokens if merging.count(token) != 1), None)
