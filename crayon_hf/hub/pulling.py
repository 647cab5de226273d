"""`pull`: download a repository's tokenizer as a profile, a tokenizer that crayon_hf opens by its name."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from crayon_hf import _core
from crayon_hf.cartridges import cartridge_check
from crayon_hf.cartridges.compiling import compile_json
from crayon_hf.cartridges.search_path import check_name
from crayon_hf.errors import CartridgeError, HubError, UnsupportedError, VocabularyError
from crayon_hf.hub.store import CARTRIDGE, JSON, Record, Store, default_directory, describe
from crayon_hf.hub_access import client
from crayon_hf.util.files import read_cartridge, read_source


class Pulled(NamedTuple):
    """A profile that was pulled: `Tokenizer.from_profile(name)` opens it."""

    name: str
    repo: str
    revision: str
    commit: str
    cartridge: Path
    source: Path
    origin: str
    """``"repository"``: the repository's own cartridge; ``"compiled"``: compiled on this machine."""
    reason: str | None
    """Why the tokenizer was compiled on this machine."""
    changed: bool = True
    """False if the profile already existed, with the same content."""


class _Content(NamedTuple):
    source: bytes
    cartridge: bytes
    origin: str
    reason: str | None


def pull(
    repo: str,
    revision: str | None = None,
    *,
    name: str | None = None,
    token: str | bool | None = None,
    directory: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Pulled:
    """Download a repository's tokenizer from the Hub as a profile, which `Tokenizer.from_profile` opens by name.

    The repository's cartridge is used if it is intact and agrees with its ``tokenizer.json``; otherwise the tokenizer
    is compiled here. Pulling the same commit again changes nothing. docs/hub.md has an example.

    Args:
        repo: ``user/name`` or ``user/name@revision``.
        revision: A branch, tag or commit; by default the main branch.
        name: The name of the profile; by default that of the repository.
        token: As in the client: True and None mean the token that is logged in.
        directory: Where to store the profile; by default the first entry of ``CRAYON_PROFILE_DIR``, else
            ``~/.cache/xerv/crayon/profiles``.
        force: Whether to replace a profile of that name from another source.

    Returns:
        The profile: its name, origin and files.

    Raises:
        HubError: The Hub, its cache or the directory failed. An existing profile is unchanged.
        UnsupportedError: The engine does not support the tokenizer.
        VocabularyError: The tokenizer is malformed.
        ImportError: ``huggingface_hub`` is not installed.
        ValueError: A name or the directory is invalid.
    """
    place = client.parse(repo, revision)
    profile = place.repo.rpartition("/")[2] if name is None else name
    check_name(profile)
    if directory is not None and not os.fspath(directory):
        raise ValueError("the name of the directory is empty")  # an empty path would mean the working directory
    store = Store(default_directory() if directory is None else directory)
    store.check(profile, place.repo, force)  # before anything is downloaded
    listing = client.listing(place, token)
    names = _wanted(place, listing)
    content = _content(place, listing, client.fetch(place, listing, names, token), names)
    files = {JSON: content.source, CARTRIDGE: content.cartridge}
    record = Record(
        place.repo, place.revision or "main", listing.commit, content.origin, content.reason, describe(files)
    )
    at = store.install(profile, record, files, force)
    facts = (content.origin, content.reason, at.changed)
    return Pulled(profile, place.repo, record.revision, listing.commit, at.cartridge, at.source, *facts)


def _wanted(place: client.Place, listing: client.Listing) -> list[str]:
    """Return the files that make the profile. The first one has the vocabulary."""
    from crayon_hf.formats.recognise import candidates
    from crayon_hf.formats.sidecar_files import FILES

    present = sorted(name for name in listing.files if "/" not in name)
    first = next(candidates(str(place), present), None)
    if first is None or first.endswith(".dat"):
        where = "the cache has" if listing.is_offline else "the repository has"
        instead = ", and a cartridge alone cannot be checked" if CARTRIDGE in present or first else ""
        raise HubError(f"{place}: {where} no tokenizer.json and no other vocabulary that crayon-hf reads{instead}")
    if first == JSON:
        return [JSON, *({CARTRIDGE} & set(present))]
    return [first, *(name for name in ("merges.txt", *FILES) if name in present)]


def _content(place: client.Place, listing: client.Listing, folder: str, names: list[str]) -> _Content:
    if names[0] != JSON:
        return _converted(place, folder, names[0])
    try:
        source = read_source(os.path.join(folder, JSON))
    except VocabularyError as error:
        raise _refused(place, error) from error
    if CARTRIDGE in names:
        try:
            cartridge = read_cartridge(os.path.join(folder, CARTRIDGE))
            refusal = _refusal(cartridge, source)
            if refusal is None:
                return _Content(source, cartridge, "repository", None)
        except CartridgeError as error:
            refusal = str(error)
        reason = f"the repository's cartridge is not used: {refusal}"
    else:
        reason = "the cache has no cartridge of it" if listing.is_offline else "the repository has no cartridge"
    try:
        return _Content(source, compile_json(source), "compiled", reason)
    except VocabularyError as error:
        raise _refused(place, error) from error


def _refusal(cartridge: bytes, source: bytes) -> str | None:
    """Return why the cartridge does not fit the source, or None if it fits. Raise CartridgeError if it is damaged."""
    engine = _core.Engine.from_bytes(cartridge)  # verifies all of it
    return cartridge_check.disagreement(engine, sha256(source).hexdigest(), source)


def _converted(place: client.Place, folder: str, name: str) -> _Content:
    from crayon_hf.formats import convert
    from crayon_hf.formats.repository import cartridge_of

    # Convert this file, not the folder: the client's cache may have other vocabularies there.
    try:
        converted = convert(os.path.join(folder, name))
        cartridge = cartridge_of(converted)
    except VocabularyError as error:
        raise _refused(place, error) from error
    reason = f"the repository has no tokenizer.json: its {name} was converted"
    return _Content(converted.tokenizer_json, cartridge, "compiled", reason)


def _refused(place: client.Place, error: VocabularyError) -> VocabularyError:
    if isinstance(error, UnsupportedError):
        return UnsupportedError(
            f"{place}: cannot be a profile: the engine does not support it: {error} (transformers can open it)"
        )
    return type(error)(f"{place}: {error}")
