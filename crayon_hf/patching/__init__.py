"""`install` replaces functions of other libraries, so that an unchanged program gets tokenizers of crayon_hf.

Neither this package nor `install` imports those libraries. A library that is not imported yet is changed on import.
"""

from __future__ import annotations

import threading

from crayon_hf.patching import patch_tiktoken as of_tiktoken
from crayon_hf.patching import patch_tokenizers as of_tokenizers
from crayon_hf.patching import patch_transformers as of_transformers
from crayon_hf.util.replacing import Replacement

__all__ = ["install", "installed", "uninstall"]

_PLACES: dict[str, dict[str, Replacement]] = {
    "transformers": of_transformers.PLACES,
    "tokenizers": of_tokenizers.PLACES,
    "tiktoken": of_tiktoken.PLACES,
}
_lock = threading.RLock()


def install(*, transformers: bool = True, tokenizers: bool = False, tiktoken: bool = False) -> None:
    """Make other libraries open tokenizers of crayon_hf, everywhere in this process, until `uninstall`.

    Call it before or after the libraries are imported; it imports none of them. It also reaches classes that the
    program has already imported by name. Another call adds to the covered libraries; `installed` lists them.

    Args:
        transformers: Cover ``AutoTokenizer``, ``AutoProcessor`` and pipelines, and ``from_pretrained`` and the
            constructor of every fast class. Slow tokenizers stay as they are. ``tokenizers.decoders.DecodeStream`` then
            takes tokenizers of both libraries.
        tokenizers: Make ``tokenizers.Tokenizer.from_file``, ``from_str``, ``from_buffer`` and ``from_pretrained``
            return a `crayon_hf.Tokenizer`.
        tiktoken: Make ``get_encoding``, ``encoding_for_model`` and ``Encoding(...)`` return a ``tiktoken.Encoding``
            that encodes with crayon_hf's engine. Slow tokenizers that contain a ``tiktoken.Encoding``, like Kimi's,
            then use ours.

    >>> import crayon_hf
    >>> crayon_hf.install(tiktoken=True)
    >>> from transformers import AutoTokenizer  # opens tokenizers of crayon_hf
    """
    wanted = {"transformers": transformers, "tokenizers": tokenizers, "tiktoken": tiktoken}
    with _lock:
        for library in (name for name in wanted if wanted[name]):
            for place in _PLACES[library].values():
                place.put()


def uninstall() -> None:
    """Undo `install`. Open tokenizers keep working.

    >>> crayon_hf.install(transformers=False, tiktoken=True)
    >>> crayon_hf.uninstall()
    >>> crayon_hf.installed()
    {}
    """
    with _lock:
        for places in _PLACES.values():
            for place in places.values():
                place.take_back()


def installed() -> dict[str, str]:
    """Return the names that `install` replaces, and the state of each.

    The state is ``"in place"`` for a replaced name. Otherwise it says that the replacement waits for the import of the
    library, or that other code has replaced the name since. docs/drop-in.md has an example.
    """
    with _lock:
        return {name: place.state() for places in _PLACES.values() for name, place in places.items() if place.is_wanted}
