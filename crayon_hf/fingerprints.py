"""How ``datasets`` tells one tokenizer from another: its cache files are named by a hash of what a function refers to.

It pickles a function with a pickler of its own, and hashes the pickle. Ours holds the path of a cartridge, to open it
quickly elsewhere; what is hashed is all that the ids depend on, so that another path, another machine or another use
before changes nothing. The pickler is no public part of ``datasets``; without this a hash is made of the pickle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
    from crayon_hf.corpora.job.encoder import job_tokenizer

    sizes = repr(tokenizer.truncation), repr(tokenizer.padding)
    return type(tokenizer).__name__, job_tokenizer(tokenizer).digest, *sizes


def hash_by(kind: type, facts: Callable[[Any], tuple[str, ...]]) -> None:
    """Have ``datasets``, which must be there, hash objects of just this class by their facts. Twice is as once."""
    from datasets.utils._dill import Pickler, pklregister

    def save(pickler: Any, thing: Any) -> None:
        pickler.save_reduce(tuple, (facts(thing),), obj=thing)

    if kind not in Pickler.dispatch:
        pklregister(kind)(save)


def _register() -> None:
    from crayon_hf.tokenizer import Tokenizer
    from crayon_hf.transformers_face.backend import Backend

    for kind in (Tokenizer, Backend):
        hash_by(kind, facts)
