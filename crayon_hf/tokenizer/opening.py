"""Functions that open a tokenizer. Each returns a `TokenizerState`.

`open_any` recognises the format of a file. The function for the format gets an `OpenedSource`: the tokenizer.json with
a cartridge that was found beside it, found in the cache, or compiled into the cache. Sources other than tokenizer.json
and our cartridges are first converted. If the engine does not support a tokenizer, the reference library encodes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from crayon_hf.cartridges import cache
from crayon_hf.cartridges.compiling import EMPTY, Compiled, Recipe, compiled_engine, json_recipe, json_to_train
from crayon_hf.cartridges.opened_source import NO_JSON, OpenedSource, Source, beside, is_inexact
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
    from crayon_hf.cartridges.search_path import Profile
    from crayon_hf.formats.recognise import Kind
    from crayon_hf.formats.tiktoken import RankFile

_CARTRIDGE = "tokenizer.dat"
_IN_CLIENT_CACHE = r"(.*)/models--[^/]+/snapshots/([0-9a-f]{40})/(.*)"
_KEPT_FROM = 1 << 18
"""Size in bytes from which a ``tokenizer.json`` in memory is cached: compiling it takes longer than a lookup."""
_VERSION_2 = b"CRAY\2\0\0\0"


def open_any(path: str | os.PathLike[str], mode: Mode = EXACT, kind: str | None = None) -> TokenizerState:
    """Open a source of any format that `crayon_hf.formats` reads, or a directory that contains one.

    `kind` is the name of the file's `Kind`, if the caller knows it.
    """
    given = os.fspath(path)
    name = os.path.abspath(given)  # the working directory may change before it is needed
    if kind is None:
        kind, name = _recognise(given, name)
    try:
        match kind:
            case "TOKENIZER_JSON":
                return _open_json(name, mode)
            case "CARTRIDGE":
                return _open_cartridge(name, mode)
            case "TIKTOKEN":
                return open_tiktoken(name, mode=mode)
            case _:
                return _convert(kind, name, mode)
    except (CartridgeError, VocabularyError) as error:
        hint = "; Tokenizer.from_tiktoken takes them" if kind == "TIKTOKEN" and "pattern=" in str(error) else ""
        if name in str(error) or os.path.abspath(given) in str(error):
            raise
        raise type(error)(f"{name}: {error}{hint}") from error


def _recognise(given: str, name: str) -> tuple[str, str]:
    """Return the name of a source's `Kind`, and the file to open; in a directory, the file with the vocabulary.

    The two usual kinds need no import: our cartridges, and a tokenizer.json as `tokenizers` writes it.
    """
    if os.path.isfile(given):
        with open(given, "rb") as file:
            head = file.read(64)
        if head.startswith(b"CRAY") and not head.startswith(_VERSION_2):
            return "CARTRIDGE", name
        if b"".join(head.split()).startswith(b'{"version":"1.0","truncation"'):
            return "TOKENIZER_JSON", name
    from crayon_hf.formats.recognise import Kind, look_into, recognise, vocab_and_merges

    with suppress(FileNotFoundError):  # which `recognise` raises with a hint
        os.lstat(given)
    kind = recognise(given)
    if kind is Kind.DIRECTORY:
        kind, name = look_into(name)
        if kind is Kind.DIRECTORY:
            raise VocabularyError(f"{name} is a directory, expected a file")
    if kind is Kind.MERGES:
        kind, name = Kind.VOCAB_JSON, vocab_and_merges(name, kind)[0]
    return kind.name, name


# -- files


def _open_json(path: str, mode: Mode) -> TokenizerState:
    try:
        return TokenizerState(find_json(path), mode)
    except UnsupportedError as error:
        return _delegate_json(read_source(path), str(error), mode)


def find_json(path: str, copied: Callable[[str], str] = str) -> OpenedSource:
    """Open a ``tokenizer.json`` with its cartridge: the matching one beside it, or else one from the cache.

    If neither exists, the file is compiled. `copied` takes the path, and returns that of a copy to use with the cache.
    """
    cartridge, refused = f"{path.removesuffix('.json')}.dat", None
    if cartridge != f"{path}.dat" and os.path.isfile(cartridge):
        from crayon_hf.cartridges.cartridge_check import open_beside

        engine, refused = open_beside(cartridge, path)
        if engine is not None:
            return OpenedSource(engine, Source(path, engine.source_digest, engine=engine), cartridge, came_along=True)
    return cache.open_source(copied(path), json_recipe())._replace(refused=refused)


def _open_cartridge(path: str, mode: Mode) -> TokenizerState:
    """Open a version 3 cartridge. Its ``tokenizer.json`` is the file beside it, if that exists."""
    engine = cache.open_cartridge(path)
    return TokenizerState(OpenedSource(engine, Source(beside(path), engine.source_digest), path, came_along=True), mode)


def open_tiktoken(
    path_or_name: str | os.PathLike[str] | bytes,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
    mode: Mode = EXACT,
) -> TokenizerState:
    """Open a rank file by its path or bytes, or a published encoding by its name."""
    from crayon_hf.formats import tiktoken as conversion

    if isinstance(path_or_name, str) and path_or_name in conversion.KNOWN_ENCODINGS:
        name = path_or_name if name is None else name
        source = conversion.find_published_file(path_or_name) or conversion.fetch_published_file(path_or_name)
    else:
        source = path_or_name if isinstance(path_or_name, bytes) else os.fspath(path_or_name)
    facts = conversion.identify(cache.source_digest(source), pattern=pattern, special_tokens=special_tokens, name=name)
    source = source if isinstance(source, bytes) else os.path.abspath(source)
    try:
        return TokenizerState(cache.open_source(source, conversion.recipe(facts)), mode)
    except UnsupportedError as error:
        mode.check_native(str(error))
        data = read_source(source) if isinstance(source, str) else source
        return delegate_ranks(conversion.read_ranks(data), facts, str(error))


def _convert(name: str, path: str, mode: Mode) -> TokenizerState:
    """Open a source by way of the ``tokenizer.json`` that the reader of its format makes."""
    from crayon_hf.formats import read
    from crayon_hf.formats.recognise import Kind

    kind = Kind[name]
    recipe = _recipe(kind, path)
    try:
        opened = cache.open_by_stat(path, recipe) if kind is Kind.GGUF else cache.open_source(path, recipe)
    except UnsupportedError as error:
        # If the reader raised, it raises again here. If the compiler raised, the reference encodes.
        return _delegate_json(read(kind, path).tokenizer_json, str(error), mode)
    if is_inexact(opened.engine):
        opened = opened._replace(source=Source(None, missing=f"{path} is {NO_JSON}"))
    return TokenizerState(opened, mode)


def _recipe(kind: Kind, path: str) -> Recipe:
    """Return the recipe by which the cache makes a cartridge of the file.

    The recipe's name changes with everything that the result depends on, except the file itself.
    """
    from crayon_hf.formats import REVISIONS, read
    from crayon_hf.formats.recognise import Kind
    from crayon_hf.formats.repository import opened_cartridge

    def compile_source(data: bytes) -> Compiled:
        converted = read(kind, path, None if kind is Kind.GGUF else data, opening=True)
        return Compiled(opened_cartridge(converted), converted.tokenizer_json)

    facts = [kind.name, str(REVISIONS[kind.name]), *map(_digest, _files_beside(kind, path))]
    return Recipe(f"conversion/{sha256(' '.join(facts).encode()).hexdigest()}", compile_source)


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


# -- profiles and repositories


def open_profile(name: str, mode: Mode = EXACT) -> TokenizerState:
    """Open a profile by its name."""
    from crayon_hf.cartridges.search_path import find_profile

    return open_found(find_profile(name), mode)[0]


def open_found(profile: Profile, mode: Mode = EXACT) -> tuple[TokenizerState, str]:
    """Open a profile, and return its state and the file that was used: the cartridge.

    The source is used instead if the cartridge is missing, stale or damaged.
    """
    files = profile.cartridge, profile.source
    cartridge, source = (None if file is None else os.path.abspath(file) for file in files)
    if cartridge is not None and (source is None or is_version_2(cartridge)):
        return open_any(cartridge, mode, "CRAYON_V2" if is_version_2(cartridge) else "CARTRIDGE"), cartridge
    assert source is not None
    state = open_any(source, mode, "TOKENIZER_JSON")
    return state, cartridge if cartridge is not None and state.came_along else source


def is_version_2(path: str) -> bool:
    """Whether the file is a cartridge of CRAYON."""
    with open_regular(path) as file:
        return file.read(8) == _VERSION_2


def open_pretrained(identifier: str, revision: str, token: str | None, mode: Mode = EXACT) -> TokenizerState:
    """Open the ``tokenizer.json`` of a repository on the Hugging Face Hub, with its cartridge if it has one."""
    with needed("from_pretrained", "hub"):
        from huggingface_hub import hf_hub_download

    source = hf_hub_download(repo_id=identifier, filename="tokenizer.json", revision=revision, token=token)
    fetch_cartridge(identifier, source, token=token)
    return open_any(source, mode, "TOKENIZER_JSON")


def fetch_cartridge(identifier: str, source: str, **options: Any) -> None:
    """Download the cartridge of a repository beside its ``tokenizer.json`` in the Hub client's cache, if it has one.

    The cartridge is requested at the same commit, with these options of the client. If the repository has none, this
    costs one request: the client remembers the answer for the commit.
    """
    found = re.match(_IN_CLIENT_CACHE, os.path.join(os.path.dirname(source), _CARTRIDGE).replace(os.sep, "/"))
    if found is None or os.path.isfile(found.group()):
        return
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    from crayon_hf.util.hub_errors import is_unavailable

    directory, commit, name = found.groups()
    if try_to_load_from_cache(identifier, name, directory, commit) is not None:
        return
    try:
        hf_hub_download(repo_id=identifier, filename=name, revision=commit, cache_dir=directory, **options)
    except Exception as error:
        if not is_unavailable(error):
            raise
        # Opening works without the cartridge, only slower.


# -- sources in memory


def open_buffer(buffer: bytes, mode: Mode = EXACT) -> TokenizerState:
    """Open the bytes of a ``tokenizer.json``. The cartridge of a large one is kept in the cache."""
    data = bytes(buffer)
    try:
        if len(data) >= _KEPT_FROM:
            return TokenizerState(cache.open_source(data, json_recipe()), mode)
        return TokenizerState(OpenedSource(compiled_engine(data), Source(data)), mode)
    except UnsupportedError as error:
        return _delegate_json(data, str(error), mode)


def open_model(model: Any) -> TokenizerState:
    """Open a model of the ``tokenizers`` library without other components."""
    state = TokenizerState(OpenedSource(None, Source(b'{"model":{"type":"BPE","vocab":{},"merges":[]}}')))
    state.set_component("model", model)
    return state


def open_untrained(document: dict[str, Any], mode: Mode = EXACT) -> TokenizerState:
    """Open a ``tokenizer.json`` for training. Its vocabulary may be empty."""
    source = Source(tokenizer_json.dump({"model": document["model"]}).encode())
    state = TokenizerState(OpenedSource(None, source), mode)
    state.sizes = stored_truncation(document.get("truncation")), stored_padding(document.get("padding"))
    parts = {kind: document.get(kind) for kind in COMPONENTS}
    parts["model"] = tokenizer_json.without_vocabulary(document["model"])
    state.change(parts, AddedTokens(document.get("added_tokens") or ()))
    return state


def open_pickled(
    kind: str, arguments: tuple[Any, ...], changes: tuple[Any, ...] | None, mode: Mode = EXACT
) -> TokenizerState:
    """Open a tokenizer from the tuple that `TokenizerState.pickled` returns."""
    if kind == "Engine":
        state = TokenizerState(_open_again(*arguments), mode)
        if changes is not None:
            state.change(*changes)
        return state
    if kind == "TokenizersEngine":
        from crayon_hf.fallback.tokenizers_engine import TokenizersEngine

        return TokenizerState(OpenedSource(TokenizersEngine(*arguments), Source(arguments[0].encode())))
    from crayon_hf.fallback.tiktoken_engine import TiktokenEngine

    return TokenizerState(OpenedSource(TiktokenEngine(*arguments), Source(None)))


def _open_again(path: str | None, digest: str, metadata: str, source: bytes | str | None) -> OpenedSource:
    """Open the cartridge that a tokenizer was pickled with. If it is missing or has changed, compile `source`.

    `source` is the ``tokenizer.json``, its path, or None for the file beside the cartridge. Only bytes are compiled.
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
                return OpenedSource(engine, where, path, came_along)
        except (CartridgeError, OSError):
            if not isinstance(source, bytes):
                raise
    if not isinstance(source, bytes):
        raise CartridgeError(f"{path} has changed since this tokenizer was pickled: pickle the tokenizer again")
    return cache.open_source(source, json_recipe(metadata))


# -- tokenizers that the reference encodes


def _delegate_json(data: bytes, reason: str, mode: Mode) -> TokenizerState:
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
    return TokenizerState(OpenedSource(engine, Source(data)))


def delegate_ranks(ranks: dict[bytes, int], facts: RankFile, reason: str) -> TokenizerState:
    """Open a vocabulary with the tiktoken library, for the given reason. Raise UnsupportedError if that fails."""
    from crayon_hf.fallback.delegated import warn_delegated
    from crayon_hf.fallback.tiktoken_engine import TiktokenEngine

    engine = TiktokenEngine(facts.name or "custom", facts.pattern, ranks, facts.special_tokens, reason)
    warn_delegated(reason, "tiktoken")
    return TokenizerState(OpenedSource(engine, Source(None)))
