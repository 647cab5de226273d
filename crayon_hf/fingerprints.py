"""Fingerprints of tokenizers: a digest, and its registration with ``datasets``.

``datasets`` names its cache files by a hash of a function and everything it refers to. For that it pickles the function
with its own pickler, and hashes the pickle. Our pickles hold the path of a cartridge. The fingerprint replaces the path
with everything that the ids depend on, so path, machine and earlier use do not matter.

The pickler is not a public interface of ``datasets``. A version without it hashes our pickles, paths included.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.tokenizer_state import state
from crayon_hf.util.import_hooks import when_imported

if TYPE_CHECKING:
    from crayon_hf.tokenizer import Tokenizer


def watch() -> None:
    """Make ``datasets`` hash tokenizers by their `facts`, now or when it is imported. Idempotent."""
    when_imported("datasets.utils._dill", "pklregister", _register)


def facts(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return strings that identify a tokenizer and are the same in every process.

    Raise UnsupportedError if a component of the tokenizer is written in Python. Then ``datasets`` warns and uses a
    random hash.
    """
    sizes = repr(tokenizer.truncation), repr(tokenizer.padding)
    return type(tokenizer).__name__, digest_of(tokenizer), *sizes


def digest_of(tokenizer: Tokenizer) -> str:
    """Return the SHA-256 (hex) of everything that a tokenizer's ids depend on.

    Raises:
        UnsupportedError: A component is written in Python, so its behaviour has no description.
    """
    import json  # not at the top: it would slow down importing the package

    from crayon_hf.fallback.tiktoken_engine import TiktokenEngine

    engine: Any = tokenizer._current_engine()
    what: Any
    if isinstance(engine, _core.Engine) and not tokenizer._state.is_modified:
        what = engine.source_digest
    elif isinstance(engine, TiktokenEngine):  # without a tokenizer.json
        name, pattern, ranks, specials, _ = engine.arguments
        what = [name, pattern, sorted((bytes(t).hex(), id) for t, id in ranks.items()), sorted(specials.items())]
    else:
        with state.lock:
            what = tokenizer._state.document()
    reference = json.loads(engine.metadata).get("reference", "")
    how = [what, reference, tokenizer.mode, bool(tokenizer.encode_special_tokens)]
    return sha256(json.dumps(how).encode()).hexdigest()


def hash_by(kind: type, facts: Callable[[Any], tuple[str, ...]]) -> None:
    """Make ``datasets`` hash objects of exactly the class `kind` by the strings that `facts` returns. Idempotent."""
    from datasets.utils._dill import Pickler, pklregister

    def save(pickler: Any, thing: Any) -> None:
        pickler.save_reduce(tuple, (facts(thing),), obj=thing)

    if kind not in Pickler.dispatch:
        pklregister(kind)(save)


def _register() -> None:
    from crayon_hf.tokenizer import Tokenizer

    hash_by(Tokenizer, facts)
