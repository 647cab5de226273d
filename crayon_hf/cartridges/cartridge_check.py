"""Compares a cartridge from elsewhere with the ``tokenizer.json`` beside it. It is used only if they agree.

A cartridge that was verified whole is sound: nothing in it leads out of bounds, and its tables follow from what it says
its vocabulary is. That does not make it the cartridge of a certain ``tokenizer.json``: whoever writes the file writes
the digest in it, too. So it is compared with the document itself, whatever that is opened from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from crayon_hf import _core
from crayon_hf.cartridges import cache
from crayon_hf.cartridges.source_json import Source
from crayon_hf.errors import CartridgeError, VocabularyError
from crayon_hf.tokenizer_json import document as tokenizer_json
from crayon_hf.util.files import read_source


def open_beside(cartridge: str, source: str, document: bytes | None = None) -> tuple[_core.Engine | None, str | None]:
    """The engine of the cartridge beside a ``tokenizer.json``, or why it must not be used; neither when there is none.

    `document` is what it has to agree with when that is not the file itself: what a library made of it. A cartridge
    that agreed is not compared again until a file changes.
    """
    try:
        digest = cache.source_digest(source)
        about = f"{digest} {'' if document is None else sha256(document).hexdigest()}"

        def check(engine: _core.Engine) -> str | None:
            reason = disagreement(engine, digest, read_source(source) if document is None else document)
            if reason is not None and document is not None and _is_written(file := read_source(source), document):
                return disagreement(engine, digest, file)
            return reason

        engine, reason = cache.open_agreeing(cartridge, about, check)
    except FileNotFoundError as error:
        return None, None if error.filename == cartridge else f"there is no tokenizer.json beside it: {source}"
    except (CartridgeError, VocabularyError, OSError) as error:
        return None, str(error)
    return (engine, None) if reason is None else (None, reason)


def disagreement(engine: _core.Engine, digest: str, document: bytes, reference: str = "tokenizers") -> str | None:
    """Why the cartridge, which was verified whole, is not that of a ``tokenizer.json``; None when it is.

    `digest` is the SHA-256 of the file that it has to be compiled from, `document` what it has to mean. Its ids have to
    be those that `reference`, ``tokenizers`` or ``tiktoken``, gives for the document, whatever library the cartridge
    says that its ids are those of.
    """
    if engine.source_digest != digest:
        return f"it was compiled from another tokenizer.json (SHA-256 {engine.source_digest}, not {digest})"
    if reference == "tiktoken":
        if engine.info()["flavor"] != "rust_regex":
            return "it does not follow the regular expressions of tiktoken"
    elif (pattern := _read_otherwise(engine)) is not None:
        return f"it follows the regular expressions of tiktoken, and tokenizers reads this one otherwise: {pattern}"
    try:
        return engine.mismatch(document)
    except VocabularyError as error:  # one that is not native, or that the compiler does not read at all
        return f"the tokenizer.json is not compiled: {error}"


def _read_otherwise(engine: _core.Engine) -> str | None:
    """A pattern that the engines of regular expressions read in two ways. One cartridge follows one of the two."""
    if engine.info()["flavor"] == "oniguruma":
        return None
    families = _core.family_of_pattern
    for pattern in _patterns(json.loads(engine.components).get("pre_tokenizer")):
        if _core.is_read_alike(pattern):
            continue
        if families(pattern, "oniguruma") is None or families(pattern, "oniguruma") != families(pattern, "rust_regex"):
            return pattern
    return None


def _patterns(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for item in part:
            yield from _patterns(item)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key == "Regex" and isinstance(value, str):
                yield value
            else:
                yield from _patterns(value)


def _is_written(file: bytes, document: bytes) -> bool:
    """True when the document is, byte for byte, what the library writes of the file, which may leave defaults out."""
    try:
        parsed = {"added_tokens": [], **Source(file).document()}
        return _core.with_exact_scores(tokenizer_json.write(parsed, False)) == document
    except (VocabularyError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
