"""The loaded profile of `CrayonVocab`: an engine, and its vocabulary in CRAYON's terms."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from crayon_hf import _core
from crayon_hf.cartridges.search_path import find_profile
from crayon_hf.errors import ProfileNotFoundError, TokenIdError, UnsupportedError, VocabularyError
from crayon_hf.formats.names import looks_like_path
from crayon_hf.tokenizer import opening
from crayon_hf.tokenizer.device_placement import rows_of
from crayon_hf.tokenizer_state.modes import EXACT, Mode
from crayon_hf.util.byte_level import spell

if TYPE_CHECKING:
    from crayon_hf.cartridges.opened_source import AnyEngine
    from crayon_hf.cartridges.search_path import Profile

XERV_UNKNOWN = 1
"""The id that CRAYON gives each byte that begins no token. A token of the vocabulary has the same id."""


class Loaded:
    """A loaded profile. It is immutable, so any number of threads can use it."""

    def __init__(self, exact: AnyEngine, path: str | None, mode: Mode, compat: str | None) -> None:
        """`exact` is the engine in exact mode. `path` is shown to users. The others are those of `CrayonVocab`."""
        self.path = path
        self._limit: int | None = None
        if compat is not None:
            self._limit = _size_of_version_2(exact)
            if self._limit is None:
                raise _not_version_2(compat, path)
            if exact.id_to_token(XERV_UNKNOWN) is None:
                raise ValueError(f"compat={compat!r} needs a token with id {XERV_UNKNOWN}, and {path} has none")
            mode = Mode("greedy", (self._limit, XERV_UNKNOWN))
        self.engine: AnyEngine = mode.engine(exact) if isinstance(exact, _core.Engine) else exact
        self._exact = exact
        self._size = self._limit
        info = exact.info()
        self._is_bytes = info.get("tokens") == "bytes"
        self._longest = info.get("max_token_bytes", 0)

    @property
    def size(self) -> int:
        """The highest id plus one."""
        if self._size is None:
            self._size = max(self._exact.get_vocab().values(), default=-1) + 1
        return self._size

    def rows(self, texts: list[str]) -> list[list[int]]:
        """The ids of many texts."""
        columns = self.engine.encode_columns(texts, None, False, False, None, None, ("input_ids",))
        if columns is not None:
            rows: list[list[int]] = columns["input_ids"]
            return rows
        return rows_of(*self.engine.encode_ragged(texts, False))

    def check_ids(self, ids: Any) -> None:
        """Raise TokenIdError for ids that CRAYON lacks, if `compat` is set."""
        if self._limit is not None:
            beyond = next((id for id in ids if isinstance(id, int) and id >= self._limit), None)
            if beyond is not None:
                raise TokenIdError(f"id {beyond} is not in the vocabulary of {self._limit} ids")

    def token(self, id: int) -> str | None:
        """A token as text, with U+FFFD for bytes that are not UTF-8."""
        if id < 0 or (self._limit is not None and id >= self._limit):
            return None
        if self._is_bytes and isinstance(self._exact, _core.Engine):
            data = self._exact.id_to_bytes(id)
            return None if data is None else data.decode("utf-8", "replace")
        return self._exact.id_to_token(id)

    def id_of(self, token: str) -> int | None:
        """Return the id of a token, spelled as the method `token` returns it, or None if the vocabulary lacks it."""
        try:
            data = token.encode()
        except UnicodeEncodeError:
            return None
        spelled = (spell(data),) if self._is_bytes else ()
        for candidate in (token, *spelled):
            id = self._exact.token_to_id(candidate)
            if id is not None and self.token(id) == token:
                return id
        return None

    def longest_match(self, text: str, pos: int) -> tuple[int, int] | None:
        """Return the longest token at a character as (id, characters), or None if no token begins there."""
        engine = self.engine if self._limit is None else self._exact  # greedy maps bytes without a token to id 1
        if not isinstance(engine, _core.Engine):
            raise UnsupportedError(
                f"longest_match needs the native engine, which does not support this tokenizer ({engine.reason})"
            )
        data = text[pos : pos + self._longest].encode()  # a character has at least one byte
        id, size = engine.longest_match(data)
        if size == 0 or (self._limit is not None and id >= self._limit):
            return None
        return id, len(data[:size].decode("utf-8", "ignore"))


class TokenList(Sequence[str]):
    """The tokens of a profile by id, indexed like CRAYON's list, or called like `Tokenizer.id_to_token`.

    For an id without a token, the list gives an empty string when indexed, and None when called.
    """

    __slots__ = ("_loaded",)

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    def __call__(self, id: int) -> str | None:
        return self._loaded.token(id)

    def __len__(self) -> int:
        return self._loaded.size

    @overload
    def __getitem__(self, id: int) -> str: ...
    @overload
    def __getitem__(self, id: slice) -> list[str]: ...
    def __getitem__(self, id: int | slice) -> str | list[str]:
        ids = range(self._loaded.size)[id]  # raises IndexError
        return [self._loaded.token(i) or "" for i in ids] if isinstance(ids, range) else self._loaded.token(ids) or ""

    def __iter__(self) -> Iterator[str]:
        return iter(self[:])

    def __contains__(self, token: object) -> bool:
        return isinstance(token, str) and self._loaded.id_of(token) is not None

    def __repr__(self) -> str:
        return f"<{len(self)} tokens by id>"


def open_profile(name_or_path: str | os.PathLike[str], mode: Mode, compat: str | None) -> Loaded:
    """Open a profile by its name in the search path, or a file by its path."""
    mode_to_open = EXACT if compat else mode
    name = os.fspath(name_or_path)
    if not isinstance(name, str):
        raise TypeError(f"the profile is {type(name).__name__}, expected str or a path")
    path = os.path.expanduser(name)
    if isinstance(name_or_path, str) and not looks_like_path(name):
        try:
            found = _find(name, compat)
        except ProfileNotFoundError:
            if not os.path.exists(path):
                raise
        else:
            state, path = opening.open_found(found, mode_to_open)
            return Loaded(state.exact_engine(), path, mode, compat)
    if compat is not None and not opening.is_version_2(path):
        raise _not_version_2(compat, path)
    state = opening.open_any(path, mode_to_open)
    return Loaded(state.exact_engine(), os.path.abspath(path), mode, compat)


def open_list(tokens: Sequence[str], mode: Mode, compat: str | None) -> Loaded:
    """Compile a list of tokens as CRAYON does, into a longest-match vocabulary."""
    from crayon_hf.formats.crayon_v2 import bytes_of, read_crayon_v2
    from crayon_hf.formats.repository import cartridge_of

    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Sequence):
        raise TypeError(f"the tokens are {type(tokens).__name__}, expected a list of str")
    ids: dict[bytes, int] = {}
    for i, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(f"token {i} is {type(token).__name__}, expected str")
        data = bytes_of(token)
        if data is None:
            raise VocabularyError(f"token {i} is {token!r}, which is not valid text")
        ids[data] = i
    ids.pop(b"", None)
    if not ids:
        raise VocabularyError("the list has no tokens")
    version_2 = _core.write_cartridge_v2(*_core.build_double_array(sorted(ids.items())))
    engine = _core.Engine.from_bytes(cartridge_of(read_crayon_v2(version_2, tokens)))
    return Loaded(engine, None, mode, compat)


def _find(name: str, compat: str | None) -> Profile:
    if compat is not None:
        with contextlib.suppress(ProfileNotFoundError):
            return find_profile(f"vocab_{name}")
    return find_profile(name)


def _not_version_2(compat: str, path: str | None) -> ValueError:
    return ValueError(f"compat={compat!r} needs a version 2 cartridge of CRAYON, but {path} is not one")


def _size_of_version_2(engine: AnyEngine) -> int | None:
    """Return the number of ids of a version 2 cartridge, or None for a cartridge of another version."""
    metadata = json.loads(engine.metadata)
    return metadata.get("tokens") if metadata.get("reference") == "xerv-crayon" else None
