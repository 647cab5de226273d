"""Find profiles (cartridges with a name) in a list of directories."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple
from unicodedata import category

from crayon_hf.errors import ProfileNotFoundError
from crayon_hf.util.files import cache_root

_SUFFIXES = (".dat", ".json")

_LONGEST = 200
"""The most bytes of a name. File systems allow 255, and temporary names are longer."""

_SHOWN = 60


class Profile(NamedTuple):
    """The files of a profile. At least one of the two exists.

    `source` is a ``tokenizer.json`` or, beside a cartridge of CRAYON, the ``.json`` with the tokens' strings.
    """

    name: str
    cartridge: Path | None
    source: Path | None


def search_path() -> list[Path]:
    """The directories to search, in order. CRAYON_PROFILE_DIR comes first, so that it can override others."""
    override = [Path(entry) for entry in os.environ.get("CRAYON_PROFILE_DIR", "").split(os.pathsep) if entry]
    own = home_directory()
    return [
        *override,
        Path(__file__).parents[1] / "profiles",
        *([] if own is None else [own]),
        Path("/var/cache/crayon"),
    ]


def home_directory() -> Path | None:
    """Return the directory of the user's own profiles, shared with CRAYON, or None for a user without a home."""
    root = cache_root()
    return None if root is None else Path(root) / "profiles"


def files_of(name: str, directory: Path) -> list[Path]:
    """The files of profile `name` in a directory, including broken links."""
    paths = [directory / f"{name}{suffix}" for suffix in _SUFFIXES]
    found = [path for path in paths if os.path.lexists(path)]
    return found or [path for path in (directory / f"vocab_{name}.dat",) if path.is_file()]


def find_profile(name: str) -> Profile:
    """The files of profile `name` in the first directory that has any, also under CRAYON's name ``vocab_NAME.dat``.

    Raises:
        ProfileNotFoundError: No directory has it; the message lists the existing profiles.
        ValueError: `name` is not valid.
    """
    check_name(name)
    for directory in search_path():
        cartridge, source = (directory / f"{name}{suffix}" for suffix in _SUFFIXES)
        has_cartridge, has_source = cartridge.is_file(), source.is_file()
        if has_cartridge or has_source:
            return Profile(name, cartridge if has_cartridge else None, source if has_source else None)
        if (crayon := directory / f"vocab_{name}.dat").is_file():
            return Profile(name, crayon, None)
    raise ProfileNotFoundError(_not_found_message(name))


def profile_names(directory: Path) -> list[str]:
    """Return the names of the profiles in a directory, or an empty list if it does not exist or cannot be read."""
    try:
        entries = list(directory.iterdir())
    except OSError:
        return []
    return sorted({entry.stem for entry in entries if entry.suffix in _SUFFIXES and not entry.name.startswith(".")})


def check_name(name: str) -> None:
    """Raise ValueError or TypeError if `name` cannot be the name of a profile."""
    if not isinstance(name, str):
        raise TypeError(f"a profile name is str, not {type(name).__name__}")
    if not name or name.startswith(".") or ".." in name or any(c in name for c in "/\\\0") or Path(name).name != name:
        why = (
            "it must be a plain file name without its suffix (Tokenizer.from_file opens a path, "
            "Tokenizer.from_pretrained a Hub repository)"
        )
    elif any(category(c) == "Cc" for c in name):
        why = "it has a control character"
    elif name != name.strip():
        why = "it begins or ends with a space"
    elif len(f"{name}{max(_SUFFIXES, key=len)}".encode("utf-8", "surrogatepass")) > _LONGEST:
        why = f"it has more than {_LONGEST} bytes of UTF-8 with its suffix"
    else:
        return
    shown = repr(name) if len(name) <= _SHOWN else f"{name[:_SHOWN]!r}..."
    raise ValueError(f"{shown} is not a profile name: {why}")


def _not_found_message(name: str) -> str:
    places = (f"{directory} ({', '.join(profile_names(directory)) or 'none'})" for directory in search_path())
    return (
        f"no profile {name!r}; searched these directories, with the profiles in them: {'; '.join(places)} (a Hub "
        "repository is written user/name)"
    )
