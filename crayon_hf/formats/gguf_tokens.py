"""The tokens of a GGUF file: their texts, kinds and scores, and which of them are special.

Files leave many facts out. The defaults, and the corrections of wrong files, are those of llama.cpp
(src/llama-vocab.cpp, October 2026).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.gguf_file import Metadata
from crayon_hf.formats.piece_types import BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED
from crayon_hf.tokenizer_json.parts import added_token

PREFIX = "tokenizer.ggml."
MOST_TOKENS = 1 << 21


# The key that names the token of each role (after PREFIX, before "_token_id"). The spelling is the format's.
ROLES = {
    "bos": "bos",
    "eos": "eos",
    "unk": "unknown",
    "sep": "seperator",
    "pad": "padding",
    "mask": "mask",
    "eot": "eot",
    "eom": "eom",
    "fim_pre": "fim_pre",
    "fim_suf": "fim_suf",
    "fim_mid": "fim_mid",
    "fim_pad": "fim_pad",
    "fim_rep": "fim_rep",
    "fim_sep": "fim_sep",
}
_OLD_KEYS = {"prefix": "fim_pre", "suffix": "fim_suf", "middle": "fim_mid"}

# Tokens that are control tokens by their text, even if a file states another kind.
_ENDS = (
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "[e~[",
)
# Tokens that are control tokens by their text, if the file names no token for the role.
_BY_ROLE = {
    "fim_pre": (
        "<|fim_prefix|>",
        "<fim-prefix>",
        "<fim_prefix>",
        "<\uff5cfim\u2581begin\uff5c>",
        "<PRE>",
        "\u2581<PRE>",
        "<|code_prefix|>",
        "<|prefix|>",
    ),
    "fim_suf": (
        "<|fim_suffix|>",
        "<fim-suffix>",
        "<fim_suffix>",
        "<\uff5cfim\u2581hole\uff5c>",
        "<SUF>",
        "\u2581<SUF>",
        "<|code_suffix|>",
        "<|suffix|>",
    ),
    "fim_mid": (
        "<|fim_middle|>",
        "<fim-middle>",
        "<fim_middle>",
        "<\uff5cfim\u2581end\uff5c>",
        "<MID>",
        "\u2581<MID>",
        "<|code_middle|>",
        "<|middle|>",
    ),
    "fim_pad": (
        "<|fim_pad|>",
        "<fim-pad>",
        "<fim_pad>",
        "<PAD>",
        "[PAD]",
    ),
    "fim_rep": (
        "<|fim_repo|>",
        "<fim-repo>",
        "<|repo_name|>",
        "<REPO>",
        "<reponame>",
    ),
    "fim_sep": ("<|file_sep|>",),
}
# Tokens that structure a message, which decoding keeps: they are user-defined, not control tokens.
_SHOWN = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")


class Tokens(NamedTuple):
    """The vocabulary of a file, with llama.cpp's corrections."""

    texts: list[str]
    kinds: list[int]
    scores: Sequence[float] | None
    """The scores, or None if the file has none."""
    special: dict[str, int]
    """The ids of the tokens that have a role of `ROLES`."""
    stripping: Mapping[int, str]
    """Tokens that absorb the white space beside them: "lstrip" or "rstrip" for an id."""
    stated: Sequence[int] = ()
    """The kinds as the file states them, by which llama.cpp chooses the tokens of a Unigram model."""

    def id_of(self, role: str, needed_by: str) -> int:
        """Return the id of the token with this role. Raises VocabularyError if no token has the role."""
        if role not in self.special:
            raise VocabularyError(f"the GGUF file has {needed_by}, but no {PREFIX}{ROLES[role]}_token_id")
        return self.special[role]

    def check_bytes(self) -> None:
        """Raise VocabularyError for a byte token that is not spelled ``<0xNN>``."""
        for id, (text, kind) in enumerate(zip(self.texts, self.kinds, strict=True)):
            if kind == BYTE and not re.fullmatch("<0x[0-9A-Fa-f]{2}>", text):
                raise VocabularyError(f"byte token {id} of the GGUF file is not of the form <0xNN>: {text[:80]!r}")

    def added(self) -> Iterator[dict[str, Any]]:
        """The added tokens of the ``tokenizer.json``, found in a text before it is normalized or cut."""
        for id, (text, kind) in enumerate(zip(self.texts, self.kinds, strict=True)):
            if kind in (CONTROL, UNKNOWN, USER_DEFINED):
                side = self.stripping.get(id)
                strips = {"lstrip": side == "lstrip", "rstrip": side == "rstrip"}
                yield added_token(id, text, **strips, special=kind != USER_DEFINED)


def read_tokens(metadata: Metadata, default_ids: Mapping[str, int]) -> Tokens:
    """Read the tokens. `default_ids` has the ids of the roles that a file of this model may leave out."""
    texts = strings(metadata, "tokens")
    if not texts:
        raise VocabularyError(f"the GGUF file has no {PREFIX}tokens")
    if len(texts) > MOST_TOKENS:
        raise UnsupportedError(f"{len(texts)} tokens: at most {MOST_TOKENS}")
    texts = [text or f"[EMPTY_{id}]" for id, text in enumerate(texts)]
    ids = {text: id for id, text in enumerate(texts)}
    if len(ids) != len(texts):
        id, text = next((id, text) for id, text in enumerate(texts) if ids[text] != id)
        raise VocabularyError(f"the GGUF file has token {text[:80]!r} twice, with ids {id} and {ids[text]}")
    numbers = _numbers(metadata, "token_type", [np.int32], len(texts))
    kinds = [NORMAL] * len(texts) if numbers is None else [int(kind) for kind in numbers]
    scores = _numbers(metadata, "scores", [np.float32, np.int32], len(texts))
    if scores is not None and not np.isfinite(scores).all():
        raise VocabularyError(f"{PREFIX}scores has a score that is not a finite number")
    special = _special_ids(metadata, default_ids, len(texts))
    stated = kinds.copy()
    _correct(kinds, ids, special)
    stripping = dict(_stripping(metadata, ids, kinds))
    return Tokens(texts, kinds, None if scores is None else scores.tolist(), special, stripping, stated)


def strings(metadata: Metadata, key: str) -> list[str] | None:
    """Return the array of strings under PREFIX + `key`, or None if the file lacks the key."""
    value = metadata.get(PREFIX + key)
    if value is not None and not isinstance(value, list):
        raise VocabularyError(f"{PREFIX}{key} is not an array of strings")
    return value


def string(metadata: Metadata, key: str, default: str) -> str:
    """Return the string under this full key, or `default` if the file lacks the key."""
    value = metadata.get(key, default)
    if not isinstance(value, str):
        raise VocabularyError(f"{key} is not a string")
    return value


def flag(metadata: Metadata, key: str, default: bool) -> bool:
    """Return the boolean under PREFIX + `key`, or `default` if the file lacks the key."""
    value = metadata.get(PREFIX + key, default)
    if not isinstance(value, bool):
        raise VocabularyError(f"{PREFIX}{key} is not true or false")
    return value


def _numbers(metadata: Metadata, key: str, types: Sequence[type[np.generic]], count: int) -> Any:
    value = metadata.get(PREFIX + key)
    if value is None:
        return None
    if not isinstance(value, np.ndarray) or value.dtype.newbyteorder("=") not in types:
        names = " or ".join(type.__name__ for type in types)
        raise VocabularyError(f"{PREFIX}{key} is not an array of {names}")
    if len(value) < count:
        raise VocabularyError(f"{PREFIX}{key} has {len(value)} elements for {count} tokens")
    return value[:count]


def _special_ids(metadata: Metadata, default_ids: Mapping[str, int], count: int) -> dict[str, int]:
    ids = {role: id for role, id in default_ids.items() if id < count}
    keys = {key: role for role, key in ROLES.items()} | _OLD_KEYS
    for key, role in keys.items():
        id = metadata.get(f"{PREFIX}{key}_token_id")
        if id is None:
            continue
        if isinstance(id, bool) or not isinstance(id, int):
            raise VocabularyError(f"{PREFIX}{key}_token_id is not an integer")
        if 0 <= id < count:  # llama.cpp ignores other ids, too
            ids[role] = id
    return ids


def _correct(kinds: list[int], ids: Mapping[str, int], special: Mapping[str, int]) -> None:
    controls = {text for text in _ENDS if text in ids}
    for role, texts in _BY_ROLE.items():
        if role not in special:
            controls.update(text for text in texts if text in ids)
    for text in controls:
        kinds[ids[text]] = CONTROL
    for text in _SHOWN:
        if text in ids:
            kinds[ids[text]] = USER_DEFINED
    if "<|end|>" in ids and ("<|return|>" in ids or "<|flush|>" in ids) and ("<|call|>" in ids or "<|calls|>" in ids):
        kinds[ids["<|end|>"]] = USER_DEFINED  # it ends a part of a message, not the message
    if "<|tool_response>" in ids and "</s>" in ids:
        kinds[ids["</s>"]] = NORMAL


def _stripping(metadata: Metadata, ids: Mapping[str, int], kinds: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield the ids of tokens that absorb white space, with its side. llama.cpp knows them only by the model's name."""
    name = string(metadata, "general.name", "").lower()
    pre = string(metadata, f"{PREFIX}pre", "")
    architecture = string(metadata, "general.architecture", "")
    if any(part in pre for part in ("jina-v2-de", "jina-v2-es", "jina-v2-code")) or any(
        part in architecture for part in ("nomic-bert-moe", "jina-bert-v3")
    ):
        if "<mask>" in ids:
            yield ids["<mask>"], "lstrip"
    elif "phi-3" in name or "phi3" in name:
        kept = ("<unk>", "<s>", "<|endoftext|>")
        for text, id in ids.items():
            if text == "</s>" or (text not in kept and kinds[id] in (CONTROL, UNKNOWN, USER_DEFINED)):
                yield id, "rstrip"
    elif "modern-bert" in name and "[MASK]" in ids:
        yield ids["[MASK]"], "lstrip"
