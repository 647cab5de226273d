"""The parts of a ``tokenizer.json`` that every form of `export` asks about."""

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
from crayon_hf.formats.repository import as_the_library_writes
from crayon_hf.tokenizer_json.document import ids_of

Document = dict[str, Any]
FLAGS = ("lstrip", "rstrip", "single_word")
"""Of an added token: which white space it takes, and beside which characters it is found."""


class Opened(Protocol):
    """An open `crayon_hf.Tokenizer`: this folder is below that one."""

    def to_str(self, pretty: bool = False) -> str: ...

    def _current_engine(self) -> Any: ...


class Exactness:
    """Whether a form may be written that gives other ids in known cases."""

    def __init__(self, inexact: bool) -> None:
        self._inexact = inexact
        self.differences: list[str] = []
        """The cases, in the order in which they were found."""

    def differs(self, case: str) -> None:
        """Note a case. UnsupportedError unless such a form is wanted."""
        if not self._inexact:
            raise UnsupportedError(f"{case} (--inexact, inexact=True, writes it all the same)")
        self.differences.append(case)


def converted_of(vocabulary: Converted | Opened) -> Converted:
    """An open tokenizer as the readers give it."""
    if isinstance(vocabulary, Converted):
        return vocabulary
    metadata = json.loads(vocabulary._current_engine().metadata)
    reference = metadata.pop("reference", "tokenizers")
    return Converted(vocabulary.to_str().encode(), {}, reference, None, MappingProxyType(metadata))


def document_of(converted: Converted) -> Document:
    """The ``tokenizer.json``, whose ids are whole numbers. VocabularyError for a malformed one."""
    try:
        document = json.loads(converted.tokenizer_json)
        if "type" not in document["model"]:  # an old file: the library knows what it is
            document = json.loads(as_the_library_writes(converted.tokenizer_json))
        if "vocab" not in document["model"]:
            raise KeyError("vocab")
        document["added_tokens"] = _settled(document)
        ids = [*ids_of(document["model"]).values(), *added_tokens(document).values()]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise VocabularyError(f"the tokenizer.json is malformed: {error!r}") from error
    if not all(type(id) is int and 0 <= id < 2**31 for id in ids):
        raise VocabularyError("the tokenizer.json has ids that are not integers")
    result: Document = document
    return result


def _settled(document: Document) -> list[dict[str, Any]]:
    """The added tokens with the ids that the library gives them, which need not be those of the file."""
    vocab, known = ids_of(document["model"]), dict[str, int]()
    tokens = []
    for token in document.get("added_tokens") or []:
        following = max(len(vocab), max(known.values(), default=-1) + 1)
        id = vocab.get(token["content"], known.get(token["content"], following))
        known[token["content"]] = id
        tokens.append({**token, "id": id if type(token["id"]) is int else token["id"]})
    return tokens


def opened_document(vocabulary: Converted | Opened) -> tuple[Converted, Document]:
    """A vocabulary, and its ``tokenizer.json`` as the library writes it. VocabularyError where it cannot open that."""
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
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise VocabularyError(f"the tokenizer.json is malformed: {error!r}") from error


def added_tokens(document: Mapping[str, Any]) -> dict[str, int]:
    """The ids of the added tokens by their texts."""
    return {token["content"]: token["id"] for token in document.get("added_tokens") or []}


def added_kinds(document: Mapping[str, Any]) -> dict[str, int]:
    """The kinds of pieces that added tokens are: CONTROL the special ones, USER_DEFINED the others."""
    return {token["content"]: CONTROL if token.get("special") else USER_DEFINED for token in document["added_tokens"]}


def check_ids(ids: Mapping[Any, int]) -> None:
    """UnsupportedError for two tokens with the same id."""
    seen: dict[int, Any] = {}
    for token, id in ids.items():
        if seen.setdefault(id, token) != token:
            raise UnsupportedError(f"tokens {seen[id]!r} and {token!r} have the same id, {id}")


def texts_by_id(document: Mapping[str, Any], fill: str = "") -> list[str]:
    """The text of every id, of the model or of an added token.

    `fill` is the text of an id that no token has, with a place for the id. UnsupportedError for such an id without
    `fill`, and for two ids of one text.
    """
    added = added_tokens(document)
    texts = {id: text for text, id in ids_of(document["model"]).items() if added.get(text) != id}
    check_ids({text: id for id, text in texts.items()} | added)
    texts |= {id: text for text, id in added.items()}
    ids: dict[str, int] = {}
    result: list[str] = []
    for id in range(max(texts, default=-1) + 1):
        if id not in texts and not fill:
            raise UnsupportedError(f"no token has the id {id}, and a file of pieces has all ids up to the last")
        text = texts.get(id, fill.format(id))
        if not text or "\0" in text:
            raise UnsupportedError(f"token {text!r}: no piece is empty or has a NUL character")
        if ids.setdefault(text, id) != id:
            raise UnsupportedError(f"token {text!r} has two ids, {ids[text]} and {id}")
        result.append(text)
    return result


def steps(document: Mapping[str, Any], component: str, list_name: str) -> list[dict[str, Any]]:
    """The normalizers or the pre-tokenizers, or the post-processors, one by one."""
    found, waiting = [], [document.get(component)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and part.get("type") == "Sequence":
            waiting += reversed(part.get(list_name) or [])
        elif isinstance(part, dict):
            found.append(part)
    return found


def pre_tokenizers(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pre-tokenizers one by one."""
    return steps(document, "pre_tokenizer", "pretokenizers")


def normalizers(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The normalizers one by one."""
    return steps(document, "normalizer", "normalizers")


def refuse_options(model: Mapping[str, Any], options: Sequence[str], target: str) -> None:
    """UnsupportedError for an option of a BPE model that the target does not have."""
    for option in options:
        if model.get(option):
            raise UnsupportedError(f"the vocabulary has {option}, which {target} does not have")


class Frame(NamedTuple):
    """The ids that a post-processor puts before a text and after it."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


def frame_of(document: Mapping[str, Any]) -> Frame:
    """The ids around a single text."""
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


_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")


def roles_of(converted: Converted, document: Mapping[str, Any]) -> dict[str, int]:
    """The ids of the special tokens that a ``tokenizer_config.json`` names, by their roles."""
    ids = ids_of(document["model"]) | added_tokens(document)
    return {role: ids[text] for role, text in _named(converted.config) if text in ids}


def _named(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for role in _ROLES:
        value = config.get(f"{role}_token")
        text = value.get("content") if isinstance(value, Mapping) else value
        if isinstance(text, str):
            yield role, text


def unmerged(model: Mapping[str, Any], tokens: Sequence[str]) -> str | None:
    """One of these tokens of a BPE model that its merges do not make; None without one."""
    merging = _core.TextModel(json.dumps({**model, "ignore_merges": False}))
    return next((token for token in tokens if merging.count(token) != 1), None)
