"""Decide which tokenizer a name means, for every command and every call that takes names.

A path that exists comes first, then a profile, then a published encoding of tiktoken, then a repository of the Hub.
"""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from enum import Enum
from typing import NamedTuple

from crayon_hf.cartridges.search_path import find_profile, profile_names, search_path
from crayon_hf.errors import AmbiguousNameWarning, ProfileNotFoundError, VocabularyError
from crayon_hf.util.warned import warn_caller

_PATHS = (".json", ".dat", ".tiktoken")
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?")
_FILES = (".json", ".dat", ".model", ".gguf", ".tiktoken", ".txt", ".py")


class NameKind(Enum):
    """The possible meanings of a name; the value is the word in messages."""

    PATH = "a path"
    PROFILE = "a profile"
    ENCODING = "an encoding of tiktoken"
    REPOSITORY = "a repository of the Hub"
    UNKNOWN = "unknown"


_PREFIXES = {NameKind.PROFILE: "profile:", NameKind.ENCODING: "encoding:"}
"""A prefix chooses the meaning of a name, even if a path has the same name. The prefix ``./`` chooses the path."""


class Meaning(NamedTuple):
    """The meaning of a name."""

    kind: NameKind
    name: str
    """The name without a prefix."""
    path: str | None = None
    """The file or directory of a path or of a profile. A path whose name has another meaning begins with ``./``."""
    other: NameKind | None = None
    """The other meaning that a path's name has, if any."""


def resolve(name: str | os.PathLike[str]) -> Meaning:
    """Return a name's meaning, and warn where it has two. Raises the same as `meaning_of`."""
    meaning = meaning_of(name)
    if meaning.other is not None:
        prefixed = f"{_PREFIXES[meaning.other]}{meaning.name}"
        warn_caller(
            f"{meaning.name!r} is a path here and also the name of {meaning.other.value}: the path is used "
            f"(write {meaning.path} for the path, or {prefixed})",
            AmbiguousNameWarning,
        )
    return meaning


def meaning_of(name: str | os.PathLike[str]) -> Meaning:
    """Return a name's meaning, without a warning where it has two. An ``os.PathLike`` is always a path.

    Raises ProfileNotFoundError or ValueError (VocabularyError for an encoding) if a prefixed name has no such meaning.
    """
    given = os.fspath(name)
    if not isinstance(name, str):
        return Meaning(NameKind.PATH, given, given)
    if given.startswith(prefix := _PREFIXES[NameKind.PROFILE]):
        return _profile(given.removeprefix(prefix))
    if given.startswith(prefix := _PREFIXES[NameKind.ENCODING]):
        return _encoding(given.removeprefix(prefix))
    named = _named(given)
    if os.path.lexists(given):
        if named.kind is NameKind.UNKNOWN:
            return Meaning(NameKind.PATH, given, given)
        return Meaning(NameKind.PATH, given, os.path.join(os.curdir, given), named.kind)
    return Meaning(NameKind.REPOSITORY, given) if is_repository(given) else named


def path_of(meaning: Meaning) -> str:
    """Return the path of a meaning, which may not exist. Raise `unknown_name` for a bare name without a meaning."""
    if meaning.kind is NameKind.UNKNOWN and not looks_like_path(meaning.name):
        raise unknown_name(meaning.name)
    return meaning.path or meaning.name


def unknown_name(name: str) -> ProfileNotFoundError:
    """The error for a bare name that is not a path, profile or encoding. It suggests a similar name."""
    from crayon_hf.formats.tiktoken import KNOWN_ENCODINGS

    profiles = sorted({profile for directory in search_path() for profile in profile_names(directory)})
    return ProfileNotFoundError(
        f"no tokenizer {name!r}{_meant(name, [*profiles, *KNOWN_ENCODINGS])} (profiles: {', '.join(profiles)}; "
        f"encodings of tiktoken: {', '.join(KNOWN_ENCODINGS)}; a repository of the Hub is written user/name)"
    )


def _meant(name: str, known: list[str]) -> str:
    """The end of an error, ``: did you mean ...?``; empty unless `name` resembles a known name or a model of OpenAI."""
    from crayon_hf.formats.openai_models import MODEL_TO_ENCODING, encoding_of_model

    lower = name.lower()
    close = {each.lower(): each for each in [*MODEL_TO_ENCODING, *known]}
    like = next(iter(get_close_matches(lower, close, 1, 0.6)), None)
    if lower not in close and (encoding := encoding_of_model(lower) or encoding_of_model(f"{lower}-")) is not None:
        return f": did you mean {encoding!r}, the encoding of {name}?"
    if like is None:
        return ""
    found = close[like]
    if found in known:
        return f": did you mean {found!r}?"
    return f": did you mean {MODEL_TO_ENCODING[found]!r}, the encoding of {found}?"


def looks_like_path(name: str) -> bool:
    """Whether a name can only be that of a file, a directory or a repository."""
    return name.endswith(_PATHS) or "/" in name or os.sep in name


def is_repository(name: str) -> bool:
    """Whether a name can be a repository of the Hub (``user/name``, ``user/name@branch``) and not a local path.

    >>> is_repository("openai-community/gpt2"), is_repository("./gpt2"), is_repository("gpt2/tokenizer.json")
    (True, False, False)
    """
    return _REPOSITORY.fullmatch(name) is not None and not name.endswith(_FILES) and not os.path.exists(name)


def _named(name: str) -> Meaning:
    """The profile or the encoding of a bare name, even if a path has that name as well."""
    if looks_like_path(name):
        return Meaning(NameKind.UNKNOWN, name)
    try:
        return _profile(name)
    except (ProfileNotFoundError, ValueError):
        pass
    try:
        return _encoding(name)
    except VocabularyError:
        return Meaning(NameKind.UNKNOWN, name)


def _profile(name: str) -> Meaning:
    profile = find_profile(name)
    return Meaning(NameKind.PROFILE, name, str(profile.cartridge or profile.source))


def _encoding(name: str) -> Meaning:
    from crayon_hf.formats.tiktoken import KNOWN_ENCODINGS

    if name not in KNOWN_ENCODINGS:
        raise VocabularyError(f"{name!r} is not an encoding that tiktoken publishes: {', '.join(KNOWN_ENCODINGS)}")
    return Meaning(NameKind.ENCODING, name)
