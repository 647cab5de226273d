"""`install`: what opens a tokenizer in other libraries gives ours, without a changed line in the program.

Importing this package imports none of those libraries, nor does `install`: what is not imported yet is changed when it
is.
"""

from __future__ import annotations

import threading
from types import ModuleType

from crayon_hf.installing import of_transformers

__all__ = ["install", "installed", "uninstall"]

_GROUPS: dict[str, ModuleType] = {"transformers": of_transformers}
_wanted: set[str] = set()
_lock = threading.RLock()


def install(*, transformers: bool = True) -> None:
    """Make other libraries open our tokenizers, everywhere in this process, until `uninstall`.

    `transformers`: whatever opens or makes a fast tokenizer there: ``AutoTokenizer``, ``AutoProcessor`` and pipelines,
    ``from_pretrained`` and the constructor of every fast class. Slow tokenizers stay as they are. Also
    ``tokenizers.decoders.DecodeStream``, which streams text, takes our tokenizers as well as those of ``tokenizers``.

    It may be called before or after the libraries are imported, imports none of them, and covers classes that somebody
    has imported by name before. Calling it again adds to what is covered. `installed` says what is.

    >>> import crayon_hf
    >>> crayon_hf.install()
    >>> from transformers import AutoTokenizer  # gives ours
    """
    with _lock:
        for name, wanted in {"transformers": transformers}.items():
            if wanted:
                _wanted.add(name)
                _GROUPS[name].put()


def uninstall() -> None:
    """Undo `install`. Tokenizers that are open stay what they are."""
    with _lock:
        for name in _GROUPS:
            _GROUPS[name].take_back()
        _wanted.clear()


def installed() -> dict[str, str]:
    """What `install` covers now: the names that it replaces, and how far that is.

    A name is ``"in place"``, or waits for the import of its library, or something else stands there, put there later.
    """
    with _lock:
        return {place: state for name in _GROUPS if name in _wanted for place, state in _GROUPS[name].states().items()}
