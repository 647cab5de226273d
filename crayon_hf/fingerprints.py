"""Fingerprints of tokenizers: a digest, and how ``datasets`` gets it.

``datasets`` names its cache files by a hash of what a function refers to. It pickles a function with a pickler of its
own, and hashes the pickle. Ours holds the path of a cartridge, to open it quickly elsewhere; what is hashed is all that
the ids depend on, so that another path, another machine or another use before changes nothing. The pickler is no public
part of ``datasets``; without this a hash is made of the pickle.
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
    """Tell ``datasets`` now, or when it is imported. Calling it again changes nothing."""
    when_imported("datasets.utils._dill", "pklregister", _register)


def facts(tokenizer: Tokenizer) -> tuple[str, ...]:
    """What tells a tokenizer from every other, the same in every process, as text.

    UnsupportedError for one with a component that is written in Python: ``datasets`` then says so, and hashes chance.
    """
    sizes = repr(tokenizer.truncation), repr(tokenizer.padding)
    return type(tokenizer).__name__, digest_of(tokenizer), *sizes


def digest_of(tokenizer: Tokenizer) -> str:
    """SHA-256 (hex) of all that a tokenizer's ids depend on.

    UnsupportedError for one with components that are written in Python: nothing says what they do.
    """
    import json  # importing the package need not wait for it

    from crayon_hf.fallback.tiktoken_engine import TiktokenEngine

    engine: Any = tokenizer._current_engine()
    what: Any
    if isinstance(engine, _core.Engine) and not tokenizer._state.is_modified:
        what = engine.source_digest
    elif isinstance(engine, TiktokenEngine):  # it has no tokenizer.json
        name, pattern, ranks, specials, _ = engine.arguments
        what = [name, pattern, sorted((bytes(t).hex(), id) for t, id in ranks.items()), sorted(specials.items())]
    else:
        with state.lock:
            what = tokenizer._state.document()
    reference = json.loads(engine.metadata).get("reference", "")
    how = [what, reference, tokenizer.mode, bool(tokenizer.encode_special_tokens)]
    return sha256(json.dumps(how).encode()).hexdigest()


def hash_by(kind: type, facts: Callable[[Any], tuple[str, ...]]) -> None:
    """Have ``datasets``, which must be there, hash objects of just this class by their facts. Twice is as once."""
    from datasets.utils._dill import Pickler, pklregister

    def save(pickler: Any, thing: Any) -> None:
        pickler.save_reduce(tuple, (facts(thing),), obj=thing)

    if kind not in Pickler.dispatch:
        pklregister(kind)(save)


def _register() -> None:
    from crayon_hf.tokenizer import Tokenizer

    hash_by(Tokenizer, facts)
