"""Mistral's ``tekken.json`` to ``tokenizer.json``.

The special tokens have the first ids; the ordinary token of rank ``r`` has the id ``r`` plus their number.
``default_vocab_size`` limits the number of ids, and so the ranks in use. The list of special tokens is filled up to
``default_num_special_tokens`` with ``<SPECIAL_20>`` and so on.

The reference is ``Tekkenizer`` of mistral_common, in which tiktoken cuts and merges. The ids are those of its
``encode(text, bos=False, eos=False)``, and the tokenizer adds no special tokens. The reference never looks for special
tokens in a text. Here they are special added tokens, so that their ids and strings are known;
``encode_special_tokens = True`` makes the tokenizer ignore them in texts, as the reference does. Ids decode to the same
text, with one difference: the reference damages a character whose bytes a special token separates.

The facts are those of mistral_common 1.13, module mistral_common.tokens.tokenizers.tekken.
"""

from __future__ import annotations

import base64
from typing import Any

from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.tokenizer_json.parts import parsed

from .converted import Converted, Progress
from .tiktoken import RankFile, tokenizer_json

VERSIONS = ("v1", "v2", "v3", "v7", "v11", "v13", "v15")
VERSIONS_WITH_BUILT_IN_TOKENS = ("v1", "v2", "v3", "v7")

BUILT_IN_TOKENS = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]"),
    *("[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
"""The special tokens of a file that lists none, in order of id."""

ROLES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}

_MOST_SPECIAL_TOKENS = 1 << 21  # more ids than a cartridge has
_STEP = 1 << 14  # tokens between two reports of progress
_KINDS = {dict: "an object", list: "a list", str: "a string", int: "a whole number"}


def read_tekken(data: bytes, progress: Progress | None = None) -> Converted:
    """Convert the contents of a ``tekken.json``.

    Raises VocabularyError if it is malformed, and UnsupportedError for an unknown version or pattern.
    """
    document = _parsed(data)
    config = _member(document, "config", dict)
    version = _member(config, "version", str, "config.")
    if version not in VERSIONS:
        raise UnsupportedError(f"version {version!r} of tekken.json; supported: {', '.join(VERSIONS)}")
    special_tokens = _special_tokens(document, config, version)
    n_ordinary = _ordinary_count(document, config, len(special_tokens))
    ids = _ordinary_tokens(document["vocab"][:n_ordinary], len(special_tokens), progress)
    facts = RankFile(None, _member(config, "pattern", str, "config."), special_tokens)
    return Converted(tokenizer_json(ids, facts), _tokenizer_config(special_tokens), "tiktoken")


def _parsed(data: bytes) -> dict[str, Any]:
    document = parsed(data, "tekken.json")
    if type(document) is not dict:
        raise VocabularyError("tekken.json is not a JSON object")
    return document


def _member(parent: dict[str, Any], name: str, kind: type, where: str = "") -> Any:
    value = parent.get(name)
    if type(value) is not kind:  # a bool does not count as a number
        raise VocabularyError(f"tekken.json: {where}{name} is missing or not {_KINDS[kind]}")
    return value


def _count(config: dict[str, Any], name: str) -> int:
    count: int = _member(config, name, int, "config.")
    if count < 0:
        raise VocabularyError(f"tekken.json: config.{name} is negative")
    return count


def _special_tokens(document: dict[str, Any], config: dict[str, Any], version: str) -> dict[str, int]:
    """Return the ids of all special tokens, including fillers such as ``<SPECIAL_20>``."""
    total = _count(config, "default_num_special_tokens")
    if total > _MOST_SPECIAL_TOKENS:
        raise UnsupportedError(f"config.default_num_special_tokens {total}: more ids than a cartridge can hold")
    if document.get("special_tokens") is not None:
        listed = _listed_special_tokens(_member(document, "special_tokens", list))
    elif version in VERSIONS_WITH_BUILT_IN_TOKENS:
        listed = list(BUILT_IN_TOKENS)
    else:
        raise VocabularyError(f"tekken.json: special_tokens is missing; version {version} needs it")
    if len(listed) > total:
        raise VocabularyError(
            f"tekken.json: config.default_num_special_tokens is {total}, but the file has {len(listed)} special tokens"
        )
    ids: dict[str, int] = {}
    for id, token in enumerate([*listed, *(f"<SPECIAL_{i}>" for i in range(len(listed), total))]):
        if token in ids:
            raise VocabularyError(f"tekken.json: special tokens {ids[token]} and {id} are both {token!r}")
        ids[token] = id
    return ids


def _listed_special_tokens(entries: list[Any]) -> list[str]:
    tokens = []
    for i, entry in enumerate(entries):
        where = f"special_tokens[{i}]"
        _check_rank(entry, i, where)
        tokens.append(_member(entry, "token_str", str, f"{where}."))
    return tokens


def _ordinary_count(document: dict[str, Any], config: dict[str, Any], n_special: int) -> int:
    """The number of ranks in use."""
    vocab = _member(document, "vocab", list)
    size = _count(config, "default_vocab_size")
    if not n_special <= size <= n_special + len(vocab):
        raise VocabularyError(
            f"tekken.json: config.default_vocab_size is {size}, but the file has {n_special} special tokens "
            f"and {len(vocab)} others"
        )
    return size - n_special


def _ordinary_tokens(entries: list[Any], first_id: int, progress: Progress | None) -> dict[bytes, int]:
    ids: dict[bytes, int] = {}
    for rank, entry in enumerate(entries):
        if progress is not None and rank % _STEP == 0:
            progress("reading tokens", rank, len(entries))
        where = f"vocab[{rank}]"
        _check_rank(entry, rank, where)
        encoded = _member(entry, "token_bytes", str, f"{where}.")
        try:
            token = base64.b64decode(encoded, validate=True)
        except ValueError as error:
            raise VocabularyError(f"tekken.json: {where}.token_bytes is not base64") from error
        if rank < 256 and token != bytes([rank]):
            raise VocabularyError(f"tekken.json: {where}.token_bytes is not the single byte {rank}")
        if not token:
            raise VocabularyError(f"tekken.json: {where}.token_bytes is empty")
        if token in ids:
            raise VocabularyError(f"tekken.json: {where} is the same token as vocab[{ids[token] - first_id}]")
        ids[token] = rank + first_id
    if len(ids) < 256:
        raise VocabularyError(f"tekken.json: only {len(ids)} ranks are in use: the single bytes alone are 256")
    if progress is not None:
        progress("reading tokens", len(entries), len(entries))
    return ids


def _check_rank(entry: Any, rank: int, where: str) -> None:
    if type(entry) is not dict:
        raise VocabularyError(f"tekken.json: {where} is not an object")
    if _member(entry, "rank", int, f"{where}.") != rank:
        raise VocabularyError(f"tekken.json: {where}.rank is {entry['rank']}: ranks count up from 0 without holes")


def _tokenizer_config(special_tokens: dict[str, int]) -> dict[str, Any]:
    roles = {role: token for role, token in ROLES.items() if token in special_tokens}
    return {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **roles}
