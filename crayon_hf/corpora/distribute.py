"""Send a tokenizer to other machines: a label that identifies it, and a parcel with its cartridge.

A process that receives the label opens the cartridge at its original path, if the same cartridge is there. Otherwise
it fetches the parcel and writes the cartridge into the cache, under its digest. Later processes of the machine map that
file. A tokenizer that was changed after opening needs the parcel everywhere: its tokenizer.json may be compiled again.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from crayon_hf.cartridges import cache
from crayon_hf.errors import CartridgeError, SourceMissingError, UnsupportedError
from crayon_hf.tokenizer.tokenizer import Tokenizer, _unpickle
from crayon_hf.tokenizer_state import state
from crayon_hf.util.files import write_atomic


class Parcel(NamedTuple):
    """The files of a tokenizer. It is empty if a reference library encodes: then the label describes the tokenizer."""

    cartridge: bytes
    source: bytes | None
    """The tokenizer.json, if the tokenizer has one."""


class Label(NamedTuple):
    """The identity of a tokenizer. The pickled label has a few hundred bytes, or more with changed components."""

    key: str
    """Equal for equal tokenizers, in every process."""
    parcel: str
    """The SHA-256 (hex) of the cartridge."""
    arguments: bytes
    """The pickled arguments for opening the tokenizer."""


def pack(tokenizer: Tokenizer) -> tuple[Label, Parcel]:
    """Return the label and the parcel of a tokenizer, to send it to other machines.

    Raises:
        UnsupportedError: A component is written in Python, or the cartridge of a changed tokenizer cannot be made.
    """
    with state.lock:
        kind, arguments, changes, mode = tokenizer._state.pickled()
        settings = tokenizer._settings()
        try:
            cartridge = tokenizer._state.cartridge() if kind == "Engine" else b""
        except SourceMissingError as error:
            raise UnsupportedError(f"the cartridge cannot be sent: {error}") from error
    source: bytes | None = None
    if kind == "Engine":
        *engine, source = arguments
        arguments = (*engine, None)
    opening = pickle.dumps((type(tokenizer), (kind, arguments, changes, mode), settings))
    return Label(sha256(opening).hexdigest(), sha256(cartridge).hexdigest(), opening), Parcel(cartridge, source)


_opened: dict[str, Tokenizer] = {}


def unpack(label: Label, fetch: Callable[[], Parcel]) -> Tokenizer:
    """Open the tokenizer of a label, or return it if this process has opened it before.

    `fetch` gets the parcel if this machine lacks the files.
    """
    if label.key not in _opened:
        _opened.setdefault(label.key, _open(label, fetch))
    return _opened[label.key]


def is_here(label: Label) -> bool:
    """Whether processes of this machine can open the tokenizer of a label without its parcel."""
    kind, arguments, changes, _ = pickle.loads(label.arguments)[1]
    return kind != "Engine" or (changes is None and any(_is_there(path, *arguments[1:3]) for path in _paths(label)))


def _paths(label: Label) -> tuple[str | None, str]:
    """The original path of the cartridge, and its path in this machine's cache."""
    kept = os.path.join(cache.cache_directory(), "shipped", f"{label.parcel}.dat")
    return pickle.loads(label.arguments)[1][1][0], kept


def _open(label: Label, fetch: Callable[[], Parcel]) -> Tokenizer:
    kind, (engine, arguments, changes, mode), settings = pickle.loads(label.arguments)
    if engine == "Engine":
        _, digest, metadata, source = arguments
        original, kept = _paths(label)
        path = next((path for path in (original, kept) if _is_there(path, digest, metadata)), None)
        if path is None or changes is not None:
            cartridge, source = fetch()
            if sha256(cartridge).hexdigest() != label.parcel:
                raise CartridgeError("payload digest mismatch: the parcel's cartridge is not the one of its label")
            try:
                cache.make_folder("shipped")
                write_atomic(kept, cartridge, private=True, unless=partial(_is_there, kept, digest, metadata))
                path = kept
            except OSError:  # the cache is not writable: use the memory of this process
                if path is None and source is None:
                    raise
        arguments = path, digest, metadata, source
    return _unpickle(kind, (engine, arguments, changes, mode), settings)


def _is_there(path: str | None, digest: str, metadata: str) -> bool:
    if path is None:
        return False
    try:
        engine = cache.open_cartridge(path)
    except (CartridgeError, OSError):
        return False
    return engine.source_digest == digest and engine.metadata == metadata
