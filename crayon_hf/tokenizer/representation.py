"""Makes the `repr` and `str` that ``tokenizers`` would give, without loading the whole vocabulary into that library."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError
from crayon_hf.tokenizer_json import document as tokenizer_json
from crayon_hf.tokenizer_json.added_tokens import AddedTokens
from crayon_hf.util.reference import reference_class

if TYPE_CHECKING:
    import tokenizers

_SHOWN = 100
"""The library shows this number of elements of a list, then "..."."""
_READ = 1 << 20
"""The number of bytes at the beginning of a vocabulary's JSON that are parsed for its first elements."""
_BEHIND = ", normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None, model="


def represent(
    document: dict[str, Any], source: bytes, added: AddedTokens, how: Callable[[tokenizers.Tokenizer], str]
) -> str:
    """Return `repr` or `str` (`how`) of the library's tokenizer for a ``tokenizer.json``.

    `document` is the tokenizer.json without its vocabulary; `source` is the whole file. Raise UnsupportedError, or an
    error of the library, if the library cannot open it.
    """
    kind: Any = reference_class()
    if not hasattr(kind, "from_str"):
        raise UnsupportedError("this version of tokenizers shows no tokenizer")
    texts = _core.model_text(source, False)
    if texts is None:
        raise UnsupportedError("a vocabulary that only the library reads")
    model = document["model"] | _beginning(*texts, document["model"].get("continuing_subword_prefix") or "")
    shown = how(kind.from_str(tokenizer_json.dump(document | {"added_tokens": [], "model": model})))
    own = how(added.holder())
    tokens = own[own.index("added_tokens=") : own.rindex(_BEHIND)]
    return shown.replace("added_tokens=[]", tokens, 1)


def _beginning(vocab: bytes, merges: bytes | None, prefix: str) -> dict[str, Any]:
    """Return the first tokens and merges of a model, with the other tokens that these merges need."""
    entries = _first(vocab)
    if vocab.startswith(b"["):
        return {"vocab": entries}
    tokens: dict[str, int] = dict(entries)
    if merges is None:
        return {"vocab": tokens}
    pairs = _first(merges)
    for left, right in pairs:
        for token in (left, right, left + right.removeprefix(prefix)):
            tokens.setdefault(token, len(tokens))
    return {"vocab": tokens, "merges": pairs}


def _first(text: bytes) -> list[Any]:
    """Return the first elements of a JSON list, or for an object its first (key, value) pairs."""
    decode, whole, at = json.JSONDecoder().raw_decode, text[:_READ].decode("utf-8", "ignore"), 1
    found: list[Any] = []
    while len(found) <= _SHOWN and whole[at] not in "]}":
        item, at = decode(whole, at)
        if whole[0] == "{":
            value, at = decode(whole, at + 1)
            item = item, value
        found.append(item)
        at += whole[at] == ","
    return found
