"""Send a tokenizer to other machines: a label that identifies it, and a parcel with its cartridge.

A process that receives the label opens the cartridge at its original path, if the same cartridge is there. Otherwise
it fetches the parcel and writes the cartridge into the cache, under its digest. Later processes of the machine map that
file. The parcel includes the tokenizer.json, which is needed to change some tokenizers.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from crayon_hf.cartridges import cache
from crayon_hf.cartridges.source_json import beside
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
    source: str | None
    """The path of the tokenizer.json; "" if it is only in memory, or None if the tokenizer has no tokenizer.json."""
    arguments: bytes
    """The pickled arguments for opening the tokenizer."""


def pack(tokenizer: Tokenizer) -> tuple[Label, Parcel]:
    """Return the label and the parcel of a tokenizer, to send it to other machines.

    Raises:
        UnsupportedError: A component is written in Python, or the cartridge of a changed tokenizer cannot be made.
    """
    with state.lock:
        parts = tokenizer._state.pickled()
        settings = tokenizer._settings()
        where = tokenizer._state.source.path or ""
        try:
            cartridge = tokenizer._state.cartridge() if parts[0] == "Engine" else b""
        except SourceMissingError as error:
            raise UnsupportedError(f"the cartridge cannot be sent: {error}") from error
    kind, arguments, changes, mode = parts
    source: bytes | None = None
    if kind == "Engine":
        path, digest, metadata, source = arguments
        arguments = path, digest, metadata, None
    opening = pickle.dumps((type(tokenizer), (kind, arguments, changes, mode), settings))
    label = Label(
        sha256(opening).hexdigest(), sha256(cartridge).hexdigest(), None if source is None else where, opening
    )
    return label, Parcel(cartridge, source)


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
    kind, arguments, *_ = pickle.loads(label.arguments)[1]
    return kind != "Engine" or (_is_there(*arguments[:3]) and _is_source(label.source, arguments[1]))


def _open(label: Label, fetch: Callable[[], Parcel]) -> Tokenizer:
    kind, parts, settings = pickle.loads(label.arguments)
    if parts[0] != "Engine":
        return _unpickle(kind, parts, settings)
    (path, digest, metadata, _), changes, mode = parts[1:]
    source: str | bytes | None = label.source
    cartridge_is_there = _is_there(path, digest, metadata)
    if not cartridge_is_there or not _is_source(label.source, digest):
        try:
            path, source = _delivered(label, path if cartridge_is_there else None, digest, metadata, fetch)
        except CartridgeError:  # the packing process is gone; only saving and changing need the source
            if not cartridge_is_there:
                raise
            source = label.source or None
        except OSError:  # the cache is not writable: use the memory of this process
            source = fetch().source
            if not cartridge_is_there:
                path = None
            if path is None and source is None:
                raise
    return _unpickle(kind, ("Engine", (path, digest, metadata, source), changes, mode), settings)


def _is_there(path: str | None, digest: str, metadata: str) -> bool:
    if path is None:
        return False
    try:
        engine = cache.open_cartridge(path)
    except (CartridgeError, OSError):
        return False
    return engine.source_digest == digest and engine.metadata == metadata


def _is_source(path: str | None, digest: str) -> bool:
    """Whether the file at `path` is the source with this digest. Also True if `path` is None: then no source exists."""
    if path is None:
        return True
    try:
        return path != "" and cache.source_digest(path) == digest
    except OSError:
        return False


def _delivered(
    label: Label, path: str | None, digest: str, metadata: str, fetch: Callable[[], Parcel]
) -> tuple[str, str | None]:
    """Return the paths of the cartridge and its source in this machine's cache. Missing files are written.

    `path` is a matching cartridge that exists elsewhere, or None.
    """
    kept = os.path.join(cache.make_folder("shipped"), f"{label.parcel}.dat")
    source = None if label.source is None else beside(kept)
    is_kept = partial(_is_there, kept, digest, metadata)
    writes_cartridge = path is None and not is_kept()
    writes_source = not _is_source(source, digest)
    if writes_cartridge or writes_source:
        parcel = fetch()
        if sha256(parcel.cartridge).hexdigest() != label.parcel:
            raise CartridgeError("payload digest mismatch: the parcel's cartridge is not the one of its label")
        if source is not None and writes_source and parcel.source is not None:
            write_atomic(source, parcel.source, private=True)
        if writes_cartridge:
            write_atomic(kept, parcel.cartridge, private=True, unless=is_kept)
    return path or kept, source
