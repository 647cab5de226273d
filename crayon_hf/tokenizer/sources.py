"""Opens a source of any format: recognises it, then calls the loader of its format.

Sources other than tokenizer.json and our cartridges are converted once, then mapped from the cache.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from crayon_hf import _core
from crayon_hf.cartridges import cache
from crayon_hf.cartridges.source_json import NO_JSON, Source, is_inexact
from crayon_hf.errors import CartridgeError, UnsupportedError, VocabularyError
from crayon_hf.tokenizer import opening
from crayon_hf.tokenizer_state.modes import EXACT, Mode
from crayon_hf.tokenizer_state.state import TokenizerState

if TYPE_CHECKING:
    from crayon_hf.cartridges.search_path import Profile
    from crayon_hf.formats.converted import Converted
    from crayon_hf.formats.recognise import Kind


Loader = Callable[[str, Mode], TokenizerState]


def open_any(path: str | os.PathLike[str], mode: Mode = EXACT) -> TokenizerState:
    """Open a source of any format that `crayon_hf.formats` reads, or a directory that contains one."""
    given = os.fspath(path)
    kind, name = _recognise(given)
    try:
        return _LOADERS[kind](name, mode)
    except (CartridgeError, VocabularyError) as error:
        hint = "; Tokenizer.from_tiktoken takes them" if kind == "TIKTOKEN" and "pattern=" in str(error) else ""
        if name in str(error) or os.path.abspath(given) in str(error):
            raise
        raise type(error)(f"{name}: {error}{hint}") from error


def open_profile(name: str, mode: Mode = EXACT) -> TokenizerState:
    """Open a profile by its name."""
    from crayon_hf.cartridges.search_path import find_profile

    return open_found(find_profile(name), mode)[0]


def open_found(profile: Profile, mode: Mode = EXACT) -> tuple[TokenizerState, str]:
    """Open a profile, and return which of its files was used: the source replaces a stale or damaged cartridge."""
    files = profile.cartridge, profile.source
    cartridge, source = (None if file is None else os.path.abspath(file) for file in files)
    if cartridge is None:
        assert source is not None
        return opening.open_json(source, mode), source
    if opening.is_version_2(cartridge):
        return open_any(cartridge, mode), cartridge
    if source is None:
        return opening.open_cartridge(cartridge, mode), cartridge
    state = opening.open_json(source, mode)
    return state, cartridge if state.came_along else source


# -- recognition


def _recognise(given: str) -> tuple[str, str]:
    """Return the name of a source's `Kind`, and the file to open; in a directory, the file with the vocabulary."""
    try:
        os.lstat(given)
    except FileNotFoundError:
        from crayon_hf.formats.name_hints import no_file

        raise no_file(given) from None
    plain, name = _plain_kind(given), os.path.abspath(given)
    if plain is not None:
        return plain, name
    from crayon_hf.formats.recognise import Kind, look_into, recognise, vocab_and_merges

    kind = recognise(given)
    if kind is Kind.DIRECTORY:
        kind, name = look_into(name)
        if kind is Kind.DIRECTORY:
            raise VocabularyError(f"{name} is a directory, expected a file")
    if kind is Kind.MERGES:
        kind, name = Kind.VOCAB_JSON, vocab_and_merges(name, kind)[0]
    return kind.name, name


def _plain_kind(path: str) -> str | None:
    """Recognise our cartridges, and a tokenizer.json as the library writes it, without any import."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        head = file.read(64)
    if head.startswith(b"CRAY"):
        return None if head[4:8] == (2).to_bytes(4, "little") else "CARTRIDGE"
    match head.split(b'"', 5):
        case [brace, b"version", colon, _, comma, key]:
            marks = brace.strip(), colon.strip(), comma.strip()
            return "TOKENIZER_JSON" if marks == (b"{", b":", b",") and key.startswith(b"truncation") else None
    return None


# -- loaders


def _open_ranks(path: str, mode: Mode) -> TokenizerState:
    return opening.open_tiktoken(path, None, None, None, mode)


def _convert(name: str, path: str, mode: Mode) -> TokenizerState:
    """Open a source by way of the ``tokenizer.json`` that the reader of its format makes."""
    from crayon_hf.formats import read
    from crayon_hf.formats.recognise import Kind

    kind = Kind[name]
    recipe = _recipe(kind, path)
    try:
        opened = _open_by_stat(path, recipe) if kind is Kind.GGUF else cache.open_source(path, recipe)
    except UnsupportedError as error:
        # If the reader raised, it raises again here. If the compiler raised, the reference encodes.
        return opening.delegate_json(read(kind, path).tokenizer_json, str(error), mode)
    if is_inexact(opened.engine):
        return TokenizerState(opened.engine, Source(None, missing=f"{path} is {NO_JSON}"), opened.path, mode)
    source = Source(opened.source, opened.engine.source_digest, lambda: read(kind, path).tokenizer_json)
    return TokenizerState(opened.engine, source, opened.path, mode)


_CONVERTED = ("CRAYON_V2", "GGUF", "SENTENCEPIECE", "TEKKEN", "VOCAB_JSON", "WORDPIECE")

_LOADERS: dict[str, Loader] = {
    "CARTRIDGE": opening.open_cartridge,
    "TOKENIZER_JSON": opening.open_json,
    "TIKTOKEN": _open_ranks,
    **{name: partial(_convert, name) for name in _CONVERTED},
}
"""The loader for each `Kind`, by name: that enumeration is imported only for conversions."""


def _recipe(kind: Kind, path: str) -> cache.Recipe:
    """Return how the file becomes a cartridge. The recipe's name covers everything that the result depends on except
    the file."""
    from crayon_hf.formats import REVISIONS, read
    from crayon_hf.formats.recognise import Kind
    from crayon_hf.formats.repository import opened_cartridge

    def compile_source(data: bytes) -> cache.Compiled:
        converted: Converted = read(kind, path, None if kind is Kind.GGUF else data, opening=True)
        return cache.Compiled(opened_cartridge(converted), converted.tokenizer_json)

    facts = [kind.name, str(REVISIONS[kind.name]), *(_digest(beside) for beside in _files_beside(kind, path))]
    return cache.Recipe(f"conversion/{sha256(' '.join(facts).encode()).hexdigest()}", compile_source)


def _files_beside(kind: Kind, path: str) -> list[str]:
    from crayon_hf.formats.recognise import Kind, vocab_and_merges
    from crayon_hf.formats.sidecar_files import FILES

    if kind is Kind.CRAYON_V2:
        return [os.path.splitext(path)[0] + ".json"]
    if kind in (Kind.VOCAB_JSON, Kind.WORDPIECE):
        folder = os.path.dirname(path)
        other = [vocab_and_merges(path, kind)[1]] if kind is Kind.VOCAB_JSON else []
        return [*other, *(os.path.join(folder, name) for name in FILES)]
    return []


def _digest(path: str) -> str:
    try:
        return cache.source_digest(path)
    except OSError:
        return "-"


def _open_by_stat(path: str, recipe: cache.Recipe) -> cache.Opened:
    """Open a file that is too large to be read whole. As in the cache's index, its stat identifies its contents.

    A file that has just changed could change again and keep its stat, so its cartridge is not kept.
    """
    stat = os.stat(path)
    if max(stat.st_mtime_ns, stat.st_ctime_ns) + cache.SETTLED_NS > time.time_ns():
        compiled = recipe.compile(b"")
        assert compiled.source is not None
        return cache.Opened(_core.Engine.from_bytes(compiled.cartridge, verify=False), None, compiled.source)
    return cache.open_bytes(f"{os.path.realpath(path)}\n{cache._fingerprint(stat)}".encode(), recipe)
