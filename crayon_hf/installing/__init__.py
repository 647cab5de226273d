"""`install`: what opens a tokenizer in other libraries gives ours, without a changed line in the program.

Importing this package imports none of those libraries, nor does `install`: what is not imported yet is changed when it
is.
"""

from __future__ import annotations

import threading

from crayon_hf.installing import of_tiktoken, of_tokenizers, of_transformers
from crayon_hf.util.replacing import Replacement

__all__ = ["install", "installed", "uninstall"]

_PLACES: dict[str, dict[str, Replacement]] = {
    "transformers": of_transformers.PLACES,
    "tokenizers": of_tokenizers.PLACES,
    "tiktoken": of_tiktoken.PLACES,
}
_lock = threading.RLock()


def install(*, transformers: bool = True, tokenizers: bool = False, tiktoken: bool = False) -> None:
    """Make other libraries open our tokenizers, everywhere in this process, until `uninstall`.

    `transformers`: whatever opens or makes a fast tokenizer there: ``AutoTokenizer``, ``AutoProcessor`` and pipelines,
    ``from_pretrained`` and the constructor of every fast class. Slow tokenizers stay as they are. Also
    ``tokenizers.decoders.DecodeStream``, which streams text, takes our tokenizers as well as those of ``tokenizers``.

    `tokenizers`: ``tokenizers.Tokenizer.from_file``, ``from_str``, ``from_buffer`` and ``from_pretrained`` give a
    `crayon_hf.Tokenizer`, which is not an instance of the library's class.

    `tiktoken`: ``get_encoding``, ``encoding_for_model`` and ``Encoding(...)`` give an instance of ``tiktoken.Encoding``
    that encodes with our engine; so do slow tokenizers that hold one, as Kimi's does.

    It may be called before or after the libraries are imported, imports none of them, and covers classes that somebody
    has imported by name before. Calling it again adds to what is covered. `installed` says what is.

    >>> import crayon_hf
    >>> crayon_hf.install(tiktoken=True)
    >>> from transformers import AutoTokenizer  # gives ours
    """
    wanted = {"transformers": transformers, "tokenizers": tokenizers, "tiktoken": tiktoken}
    with _lock:
        for library in (name for name in wanted if wanted[name]):
            for place in _PLACES[library].values():
                place.put()


def uninstall() -> None:
    """Undo `install`. Tokenizers that are open stay what they are.

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
    """What `install` covers now: the names that it replaces, and how far that is.

    A name is ``"in place"``, or waits for the import of its library, or something else stands there, put there later.
    docs/drop-in.md has an example.
    """
    with _lock:
        return {name: place.state() for places in _PLACES.values() for name, place in places.items() if place.is_wanted}
