"""Functions that open a tokenizer. Each returns a `TokenizerState`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from crayon_hf.cartridges import cache
from crayon_hf.cartridges.source_json import (
    EMPTY,
    NO_JSON,
    Source,
    compiled_engine,
    is_inexact,
    json_recipe,
    json_to_train,
)
from crayon_hf.errors import CartridgeError, UnsupportedError, VocabularyError
from crayon_hf.tokenizer_json import document as tokenizer_json
from crayon_hf.tokenizer_json.added_tokens import AddedTokens
from crayon_hf.tokenizer_json.components import COMPONENTS
from crayon_hf.tokenizer_json.truncation_padding import stored_padding, stored_truncation
from crayon_hf.tokenizer_state.modes import EXACT, Mode
from crayon_hf.tokenizer_state.state import TokenizerState
from crayon_hf.util.extras import needed
from crayon_hf.util.files import open_regular, read_source
from crayon_hf.util.reference import has_components

if TYPE_CHECKING:
    from crayon_hf.formats.tiktoken import RankFile

_CARTRIDGE = "tokenizer.dat"
_KEPT_FROM = 1 << 18
"""Size in bytes from which a ``tokenizer.json`` in memory is cached: compiling it takes longer than a lookup."""
_VERSION_2 = b"CRAY\2\0\0\0"


def open_cartridge(path: str | os.PathLike[str], mode: Mode = EXACT) -> TokenizerState:
    """Open a version 3 cartridge. Its ``tokenizer.json`` is the file beside it, if that exists."""
    name = os.path.abspath(path)  # the working directory may change before the path is needed again
    engine = cache.open_cartridge(name)
    return TokenizerState(engine, Source(beside(name), engine.source_digest), name, mode, came_along=True)


def open_json(path: str | os.PathLike[str], mode: Mode = EXACT) -> TokenizerState:
    """Open a ``tokenizer.json`` with a matching cartridge beside it, else from the cache or by compiling."""
    name = os.path.abspath(path)
    try:
        state, refused = open_by_cartridge(name, mode)
        if state is None:
            try:
                state = opened(cache.open_source(name, json_recipe()), mode)
            except UnsupportedError as error:
                return delegate_json(read_source(name), str(error), mode)
            state.refused = refused
        return state
    except VocabularyError as error:
        if name in str(error):
            raise
        hint = "; open a tiktoken rank file with from_tiktoken" if name.endswith(".tiktoken") else ""
        raise type(error)(f"{name}: {error}{hint}") from error


def open_by_cartridge(path: str, mode: Mode = EXACT) -> tuple[TokenizerState | None, str | None]:
    """Open a ``tokenizer.json`` with the cartridge beside it.

    Return (state, None), or (None, reason) if the cartridge does not match, or (None, None) without a cartridge.
    """
    cartridge = f"{path.removesuffix('.json')}.dat"
    if cartridge == f"{path}.dat" or not os.path.isfile(cartridge):
        return None, None
    from crayon_hf.cartridges.cartridge_check import open_beside

    engine, refused = open_beside(cartridge, path)
    if engine is None:
        return None, refused
    source = Source(path, engine.source_digest, engine=engine)
    return TokenizerState(engine, source, cartridge, mode, came_along=True), None


def opened(found: cache.Opened, mode: Mode = EXACT) -> TokenizerState:
    """Return the state of a cartridge from the cache."""
    return TokenizerState(found.engine, Source(found.source, found.engine.source_digest), found.path, mode)


def open_buffer(buffer: bytes, mode: Mode = EXACT) -> TokenizerState:
    """Open the bytes of a ``tokenizer.json``. Large ones are kept in the cache, as files are."""
    data = bytes(buffer)
    try:
        if len(data) >= _KEPT_FROM:
            return opened(cache.open_bytes(data, json_recipe()), mode)
        return TokenizerState(compiled_engine(data), Source(data), None, mode)
    except UnsupportedError as error:
        return delegate_json(data, str(error), mode)


def open_pretrained(identifier: str, revision: str, token: str | None, mode: Mode = EXACT) -> TokenizerState:
    """Open the ``tokenizer.json`` of a repository on the Hugging Face Hub, with its cartridge if it has one."""
    with needed("from_pretrained", "hub"):
        from huggingface_hub import hf_hub_download

    source = hf_hub_download(repo_id=identifier, filename="tokenizer.json", revision=revision, token=token)
    _fetch_cartridge(identifier, source, token)
    return open_json(source, mode)


def _fetch_cartridge(identifier: str, source: str, token: str | None) -> None:
    """Download the cartridge of the same commit beside `source`, in the client's cache.

    If the repository has no cartridge, this costs one request: the client remembers the answer for the commit.
    """
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    from crayon_hf.util.hub_errors import is_unavailable

    commit = os.path.basename(os.path.dirname(source))
    if try_to_load_from_cache(identifier, _CARTRIDGE, revision=commit) is not None:
        return
    try:
        hf_hub_download(repo_id=identifier, filename=_CARTRIDGE, revision=commit, token=token)
    except Exception as error:
        if not is_unavailable(error):
            raise
        # Opening works without the cartridge, only slower.


def open_tiktoken(
    path_or_name: str | os.PathLike[str],
    pattern: str | None,
    special_tokens: Mapping[str, int] | None,
    name: str | None,
    mode: Mode = EXACT,
) -> TokenizerState:
    """Open a rank file, or a published encoding by its name."""
    from crayon_hf.formats import tiktoken as conversion

    if isinstance(path_or_name, str) and path_or_name in conversion.KNOWN_ENCODINGS:
        path: str | None = conversion.find_published_file(path_or_name)
        data = conversion.fetch_published_file(path_or_name) if path is None else b""
        name = path_or_name if name is None else name
    else:
        path, data = os.fspath(path_or_name), b""
    digest = cache.source_digest(path) if path is not None else sha256(data).hexdigest()
    facts = conversion.identify(digest, pattern=pattern, special_tokens=special_tokens, name=name)
    path = None if path is None else os.path.abspath(path)

    def ranks() -> bytes:
        return data if path is None else read_source(path)

    recipe = conversion.recipe(facts)
    try:
        found = cache.open_bytes(data, recipe) if path is None else cache.open_source(path, recipe)
    except UnsupportedError as error:
        mode.check_native(str(error))
        return _delegate_tiktoken(conversion.read_ranks(ranks()), facts, str(error))
    source = Source(
        found.source,
        found.engine.source_digest,
        lambda: conversion.tokenizer_json(conversion.read_ranks(ranks()), facts),
    )
    return TokenizerState(found.engine, source, found.path, mode)


def open_ranks(
    name: str, pattern: str, ranks: Mapping[bytes, int], special_tokens: Mapping[str, int], reason: str
) -> TokenizerState:
    """Open a vocabulary that is not native with the tiktoken library. Raise UnsupportedError if that fails."""
    from crayon_hf.formats.tiktoken import RankFile

    return _delegate_tiktoken(dict(ranks), RankFile(name, pattern, dict(special_tokens)), reason)


def open_model(model: Any) -> TokenizerState:
    """Open a model of the ``tokenizers`` library without other components."""
    state = TokenizerState(None, Source(b'{"model":{"type":"BPE","vocab":{},"merges":[]}}'))
    state.set_component("model", model)
    return state


def open_untrained(document: dict[str, Any], mode: Mode = EXACT) -> TokenizerState:
    """Open a ``tokenizer.json`` for training. Its vocabulary may be empty."""
    state = TokenizerState(None, Source(tokenizer_json.dump({"model": document["model"]}).encode()), None, mode)
    state.sizes = stored_truncation(document.get("truncation")), stored_padding(document.get("padding"))
    parts = {kind: document.get(kind) for kind in COMPONENTS}
    parts["model"] = tokenizer_json.without_vocabulary(document["model"])
    state.change(parts, AddedTokens(document.get("added_tokens") or ()))
    return state


def open_pickled(
    kind: str, arguments: tuple[Any, ...], changes: tuple[Any, ...] | None, mode: Mode = EXACT
) -> TokenizerState:
    """Open a tokenizer again from `TokenizerState.pickled`."""
    if kind == "Engine":
        path, digest, metadata, source = arguments
        state = _open_again(path, digest, metadata, source, mode)
        if changes is not None:
            state.change(*changes)
        return state
    if kind == "TokenizersEngine":
        from crayon_hf.fallback.tokenizers_engine import TokenizersEngine

        return TokenizerState(TokenizersEngine(*arguments), Source(arguments[0].encode()))
    from crayon_hf.fallback.tiktoken_engine import TiktokenEngine

    return TokenizerState(TiktokenEngine(*arguments), Source(None))


def delegate_json(data: bytes, reason: str, mode: Mode) -> TokenizerState:
    """Open a ``tokenizer.json`` with the reference, for the given reason.

    If ``tokenizers`` has no component classes (1.0), a tokenizer with an empty vocabulary waits for training.
    """
    from crayon_hf.fallback.delegated import warn_delegated
    from crayon_hf.fallback.tokenizers_engine import TokenizersEngine

    mode.check_native(reason)
    if reason == EMPTY and not has_components():
        try:
            return open_untrained(json_to_train(data), mode)
        except UnsupportedError as error:
            reason = str(error)
    engine = TokenizersEngine(data.decode(), reason)
    warn_delegated(reason, "tokenizers")
    return TokenizerState(engine, Source(data))


def is_version_2(path: str) -> bool:
    """Whether the file is a cartridge of CRAYON."""
    with open_regular(path) as file:
        return file.read(8) == _VERSION_2


def beside(path: str) -> str:
    """Return the path of a cartridge's ``tokenizer.json``."""
    return path.removesuffix(".dat") + ".json"


def _delegate_tiktoken(ranks: dict[bytes, int], facts: RankFile, reason: str) -> TokenizerState:
    from crayon_hf.fallback.delegated import warn_delegated
    from crayon_hf.fallback.tiktoken_engine import TiktokenEngine

    engine = TiktokenEngine(facts.name or "custom", facts.pattern, ranks, facts.special_tokens, reason)
    warn_delegated(reason, "tiktoken")
    return TokenizerState(engine, Source(None))


def _open_again(path: str | None, digest: str, metadata: str, source: bytes | str | None, mode: Mode) -> TokenizerState:
    """Open the cartridge that a tokenizer was pickled with, or its ``tokenizer.json`` if the cartridge is missing.

    `source` is the ``tokenizer.json``, its path, or None for the file beside the cartridge.
    """
    if path is not None:
        try:
            engine = cache.open_cartridge(path)
            if engine.source_digest == digest and engine.metadata == metadata:
                came_along = os.path.dirname(path) != os.path.normpath(cache.cache_directory())
                if is_inexact(engine):
                    where = Source(None, missing=f"this tokenizer is of {NO_JSON}")
                else:
                    where = Source(beside(path) if source is None else source, digest)
                return TokenizerState(engine, where, path, mode, came_along)
        except (CartridgeError, OSError):
            if not isinstance(source, bytes):
                raise
    if not isinstance(source, bytes):
        raise CartridgeError(f"{path} has changed since this tokenizer was pickled: pickle the tokenizer again")
    return opened(cache.open_bytes(source, json_recipe(metadata)), mode)
