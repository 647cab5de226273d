"""Check that a cartridge belongs to the ``tokenizer.json`` beside it.

`open_beside` compares the file's digest with the one that the cartridge records, and verifies that reading the
cartridge is memory-safe. It trusts the repository's author that both files give the same ids. `disagreement` compares
the cartridge with the document itself, before publishing and for certificates.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crayon_hf import _core
from crayon_hf.cartridges import cache
from crayon_hf.errors import CartridgeError, VocabularyError
from crayon_hf.util.files import open_regular

_VERSION_3 = b"CRAY\3\0\0\0"
_DIGEST = slice(32, 64)  # docs/cartridge-format.md, section 1


def open_beside(cartridge: str, source: str) -> tuple[_core.Engine | None, str | None]:
    """Return the engine of the cartridge beside a ``tokenizer.json`` and None, or None and the reason not to use it.

    If the cartridge is missing, return (None, None).
    """
    try:
        with open_regular(cartridge) as file:
            head = file.read(_DIGEST.stop)
        digest = cache.source_digest(source)
        said = head[_DIGEST].hex() if head.startswith(_VERSION_3) and len(head) == _DIGEST.stop else digest
        if reason := _other_source(said, digest):
            return None, reason  # without reading the whole cartridge
        engine = cache.open_cartridge(cartridge)
    except FileNotFoundError as error:
        return None, None if error.filename == cartridge else f"no tokenizer.json beside it: {source}"
    except (CartridgeError, VocabularyError, OSError) as error:
        return None, str(error)
    reason = _other_source(engine.source_digest, digest) or _flavor_difference(engine)
    return (engine, None) if reason is None else (None, reason)


def disagreement(engine: _core.Engine, digest: str, document: bytes, reference: str = "tokenizers") -> str | None:
    """Return why a verified cartridge does not belong to a ``tokenizer.json``, or None if it does.

    The cartridge must be compiled from the file with the SHA-256 `digest`, and give the ids that `reference`
    (``tokenizers`` or ``tiktoken``) gives for `document`. The reference that the cartridge itself records is ignored.
    """
    if reason := _other_source(engine.source_digest, digest):
        return reason
    if reference == "tiktoken":
        if engine.info()["flavor"] != "rust_regex":
            return "it does not follow the regular expressions of tiktoken"
    elif reason := _flavor_difference(engine):
        return reason
    try:
        return engine.mismatch(document)
    except VocabularyError as error:  # not native, or refused by the compiler
        return f"the tokenizer.json is not compiled: {error}"


def _other_source(digest: str, wanted: str) -> str | None:
    same = digest == wanted
    return None if same else f"it was compiled from another tokenizer.json (SHA-256 {digest}, not {wanted})"


def _flavor_difference(engine: _core.Engine) -> str | None:
    pattern = _read_otherwise(engine)
    if pattern is None:
        return None
    return f"it follows the regular expressions of tiktoken, but tokenizers reads this one differently: {pattern}"


def _read_otherwise(engine: _core.Engine) -> str | None:
    """Return a pattern that Oniguruma and Rust's regex crate read differently, or None.

    A cartridge follows only one of the two.
    """
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
