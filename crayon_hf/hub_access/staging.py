"""Collect the tokenizer files of a source for publishing, and compile its cartridge. Nothing is written to the Hub."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from crayon_hf import _core
from crayon_hf.cartridges.compiling import REFERENCE_METADATA, compile_json
from crayon_hf.errors import CartridgeError, CrayonError, HubError, UnsupportedError
from crayon_hf.formats.names import NameKind, looks_like_path, resolve, unknown_name
from crayon_hf.formats.repository import CARTRIDGE, CONFIG, JSON, TEMPLATES, is_tokenizer_file
from crayon_hf.hub_access import client
from crayon_hf.util.files import read_source, write_atomic

README, MODEL_CONFIG = "README.md", "config.json"


class Staged(NamedTuple):
    """The tokenizer of a source, ready for publishing."""

    files: dict[str, bytes]
    """Tokenizer files by their names in the repository; ``tokenizer.json`` is always included."""
    config: Mapping[str, Any]
    """Settings for tokenizer_config.json, if the source has no such file."""
    metadata: str
    """The metadata for the cartridge, as JSON: the library whose ids are right, and more."""
    card: str | None
    """The README.md of the source."""
    base: str | None
    """The repository, profile or encoding that the tokenizer comes from, as named on the card. None for other files."""
    hub_id: str | None
    """The repository that the tokenizer comes from, if any."""
    revision: str = "main"
    """The revision of that repository."""

    @property
    def digest(self) -> str:
        """SHA-256 of the tokenizer.json."""
        return sha256(self.files[JSON]).hexdigest()

    def compiled(self) -> bytes:
        """Compile the tokenizer.json to a cartridge. Raise UnsupportedError if the engine does not support it."""
        try:
            return compile_json(self.files[JSON], self.metadata)
        except UnsupportedError as error:
            raise UnsupportedError(f"cannot be published: the engine does not support it: {error}") from error


def stage(source: str | os.PathLike[str], token: str | bool | None = None) -> Staged:
    """Collect the files of a tokenizer.

    `source` is a directory or a file that `crayon_hf.formats` reads, the name of a profile or of a tiktoken encoding,
    or a repository of the Hub (``user/name`` or ``user/name@revision``).

    Raise VocabularyError or another CrayonError if the source is not a tokenizer.
    """
    meaning = resolve(source)
    if meaning.path is not None:
        if meaning.kind is NameKind.PROFILE:
            return _converted(meaning.path)._replace(base=f"the profile {meaning.name}")
        if os.path.isdir(meaning.path):
            return _directory(meaning.path, own=True)
        if os.path.exists(meaning.path):
            return _converted(meaning.path)
    elif meaning.kind is NameKind.ENCODING or _is_encoding(meaning.name):
        return _converted(os.fspath(source))._replace(base=f"{meaning.name} (tiktoken)")
    elif (place := _place(meaning.name)) is not None:
        return stage_repository(place, client.listing(place, token), token)
    if not looks_like_path(meaning.name):
        raise unknown_name(meaning.name)
    raise CrayonError(f"{meaning.name}: No such file or directory")


def stage_repository(
    place: client.Place, files: client.Listing, token: str | bool | None = None, own: bool = False
) -> Staged:
    """Collect the tokenizer files of a repository at one commit.

    With `own`, the new cartridge gets the metadata of the repository's cartridge, if that fits its tokenizer.json.
    """
    wanted = files_to_read(files)
    if not wanted:
        raise HubError(f"{place}: the repository has no tokenizer: give the one to publish (--from)")
    folder = client.fetch(place, files, wanted, token)
    staged = _directory(folder, own)
    return staged._replace(
        files={name: data for name, data in staged.files.items() if name in wanted or name == JSON},
        base=place.repo,
        hub_id=place.repo,
        revision=place.revision or "main",
    )


def files_to_read(files: client.Listing) -> list[str]:
    """Return the tokenizer files of a repository and its card, or an empty list if the repository has no tokenizer."""
    wanted = [name for name in files.files if is_tokenizer_file(name) or _is_read(name)]
    return wanted if any(is_tokenizer_file(name) and name != CONFIG for name in wanted) else []


def _is_read(name: str) -> bool:
    """Whether publishing reads this file, but does not upload it as it is."""
    return name in (README, CARTRIDGE, MODEL_CONFIG) or ("/" not in name and name.endswith(".model"))


def _place(name: str) -> client.Place | None:
    try:
        return client.parse(name)
    except ValueError:
        return None


def _is_encoding(name: str) -> bool:
    from crayon_hf.formats.tiktoken_objects import is_encoding_name

    return bool(is_encoding_name(name))


def _converted(path: str) -> Staged:
    """Convert a file, or an encoding by name, as ``crayon-hf convert`` does."""
    from crayon_hf.formats import convert
    from crayon_hf.formats.recognise import Kind, recognise
    from crayon_hf.formats.repository import as_transformers_saves, metadata_of

    converted = convert(path)
    kind = recognise(path) if os.path.exists(path) else None
    is_whole = kind in (Kind.TOKENIZER_JSON, Kind.CARTRIDGE)  # an existing tokenizer.json stays unchanged
    data = converted.tokenizer_json if is_whole else as_transformers_saves(converted.tokenizer_json, converted.config)
    return Staged({JSON: data}, converted.config, metadata_of(converted), None, None, None)


def _directory(folder: str, own: bool) -> Staged:
    files = {name: _contents(folder, name) for name in _names(folder) if is_tokenizer_file(name)}
    if JSON in files:
        from crayon_hf.formats import convert

        config = convert(folder).config
        metadata = (_metadata_beside(folder, files[JSON]) if own else None) or REFERENCE_METADATA
        staged = Staged(files, config, metadata, None, None, None)
    else:
        staged = _converted(folder)
        staged = staged._replace(files={**files, **staged.files})
    if "chat_template.jinja" in files:
        config = {key: value for key, value in staged.config.items() if key != "chat_template"}
        staged = staged._replace(config=config)
    return staged._replace(card=_card(folder))


def _names(folder: str) -> Iterator[str]:
    for prefix in ("", TEMPLATES):
        place = os.path.join(folder, prefix)
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
            if os.path.isfile(os.path.join(place, name)):
                yield prefix + name


def _contents(folder: str, name: str) -> bytes:
    return read_source(os.path.join(folder, name))


def _card(folder: str) -> str | None:
    """Return the card of a source, for its metadata, or None if the card is missing or not UTF-8."""
    path = os.path.join(folder, README)
    try:
        return _contents(folder, README).decode() if os.path.isfile(path) else None
    except UnicodeDecodeError:
        return None


def as_text(data: bytes, name: str = README) -> str:
    """Return a card as text. Raise CrayonError if it is not UTF-8, since an edit would lose bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CrayonError(f"{name} is not UTF-8: byte {error.start}: repair it first") from error


def _metadata_beside(folder: str, source: bytes) -> str | None:
    """Return the metadata of the cartridge beside a tokenizer.json, or None if the two files do not match."""
    path = os.path.join(folder, CARTRIDGE)
    if not os.path.isfile(path):
        return None
    try:
        engine = _core.Engine.open(path, verify=True)
    except (CartridgeError, OSError):
        return None
    return engine.metadata if engine.source_digest == sha256(source).hexdigest() else None


def config_file(config: Mapping[str, Any], existing: bytes | None) -> bytes:
    """Return a tokenizer_config.json with these settings and, for settings that they lack, those of `existing`."""
    from crayon_hf.formats.repository import _DEFAULTS

    try:
        has = json.loads(existing or b"{}")
    except ValueError:
        has = {}
    settings = {**_DEFAULTS, **(has if isinstance(has, dict) else {}), **config}
    return json.dumps(settings, indent=2, ensure_ascii=False).encode() + b"\n"


def write_files(folder: str, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Write files by their names in a repository into a directory; return their paths. Other files stay."""
    paths = {os.path.join(folder, *name.split("/")): data for name, data in files.items()}
    for path, data in paths.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_atomic(path, data)
    return tuple(paths)
