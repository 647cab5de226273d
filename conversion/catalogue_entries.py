"""The entries of a catalogue: read and check them, and find their sources."""

from __future__ import annotations

import functools
import importlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from conversion import script
from conversion.tiktoken import source_of_encoding
from crayon_hf.cli.tokenizers import local_name
from crayon_hf.errors import CrayonError
from crayon_hf.formats import convert
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.names import is_repository
from crayon_hf.formats.tiktoken_objects import read_encoding

_NAME = re.compile(r"[\w][\w.+-]*")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEYS = {"name", "path", "repo", "revision", "encoding", "sha256", "licence", "pattern", "special_tokens", "text"}
_KEYS_OF_TEXT = {"text", "ids", "decoded"}


class CatalogueError(CrayonError, ValueError):
    """A catalogue that cannot be read: not TOML, without entries, or with two of one name."""


class EntryError(CrayonError, ValueError):
    """An entry of a catalogue that cannot be made; the message begins with its name."""


class MissingLicenceError(EntryError):
    """An entry that does not name the licence of its vocabulary."""


class DigestError(EntryError):
    """A source whose SHA-256 differs from the one in its entry."""


class Text(NamedTuple):
    """A text, and the ids that `Tokenizer.encode` must give for it."""

    text: str
    ids: tuple[int, ...]
    decoded: str | None
    """The text that these ids decode to, or None to skip this check."""


@dataclass(frozen=True)
class Entry:
    """One vocabulary. Exactly one of `path`, `repo` and `encoding` is given."""

    name: str
    sha256: str
    licence: str
    texts: tuple[Text, ...]
    path: str | None = None
    repo: str | None = None
    """A repository of the Hub with its revision: ``user/name@revision``."""
    encoding: str | None = None
    pattern: str | None = None
    special_tokens: Mapping[str, int] | None = None

    def key(self, *settings: object) -> str:
        """Return a digest of the entry and the run's settings. When this key changes, the entry is made again."""
        return sha256(json.dumps([asdict(self), *settings], sort_keys=True).encode()).hexdigest()

    def read(self, folder: Path) -> tuple[Converted, script.Source]:
        """Read the vocabulary. Paths are relative to `folder`. Raise DigestError, or an error of `convert`."""
        make: Callable[..., Converted]
        if self.encoding is not None:
            source, make = source_of_encoding(self.encoding), functools.partial(read_encoding, self.encoding)
        else:
            found = folder / self.path if self.path is not None else Path(local_name(self.repo or ""))
            source, make = script.source_of(str(found)), functools.partial(convert, found)
        if source.digest != self.sha256:
            raise DigestError(f"{self.name}: sha256 of {source.name} is {source.digest}, expected {self.sha256}")
        options: dict[str, Any] = {"pattern": self.pattern, "special_tokens": self.special_tokens}
        converted = make(**{key: value for key, value in options.items() if value is not None})
        return converted, source._replace(name=self.repo or source.name)


def read_catalogue(path: Path) -> list[tuple[str, Callable[[], Entry]]]:
    """Return the entries' names in order, each with a function that returns the checked entry or raises EntryError.

    Raise CatalogueError for a file whose names cannot be read, and under Python 3.10, which cannot read TOML.
    """
    try:
        tomllib = importlib.import_module("tomllib")
    except ImportError as error:
        raise CatalogueError("a catalogue is TOML, which Python reads from version 3.11 on") from error
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CatalogueError(f"{path} is not TOML: {error}") from error
    tables = document.get("vocabulary")
    if not isinstance(tables, list) or not tables or set(document) != {"vocabulary"}:
        raise CatalogueError(f"{path}: expected tables [[vocabulary]], and nothing else")
    names = [table.get("name") for table in tables]
    for number, name in enumerate(names):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise CatalogueError(f"{path}: vocabulary {number + 1} has the name {name!r}: letters, digits, . _ + -")
        if name in (*names[:number], "catalogue"):
            raise CatalogueError(f"{path}: two vocabularies are called {name}, or one is called like the index")
    return [(table["name"], functools.partial(_entry, table)) for table in tables]


def _entry(table: dict[str, Any]) -> Entry:
    name = table["name"]
    if unknown := sorted(table.keys() - _KEYS):
        raise EntryError(f"{name}: unknown key {', '.join(unknown)}; known: {', '.join(sorted(_KEYS))}")
    for key in ("path", "repo", "revision", "encoding", "pattern", "sha256", "licence"):
        if key in table and (not isinstance(table[key], str) or not table[key].strip()):
            raise EntryError(f"{name}: {key} is {table[key]!r}, expected a string")
    if "licence" not in table:
        raise MissingLicenceError(f"{name}: licence is missing: name the one that its source gives")
    if len(table.keys() & {"path", "repo", "encoding"}) != 1:
        raise EntryError(f"{name}: expected one of path, repo and encoding")
    if ("repo" in table) != ("revision" in table):
        raise EntryError(f"{name}: repo needs a revision (a commit or a tag), and nothing else has one")
    if not _DIGEST.fullmatch(table.get("sha256", "")):
        raise EntryError(f"{name}: sha256 is missing or not 64 digits; the script of the format prints it as read")
    repo = f"{table['repo']}@{table['revision']}" if "repo" in table else None
    if repo is not None and not is_repository(repo):
        raise EntryError(f"{name}: {repo!r} is not a repository of the Hub, user/name")
    return Entry(
        name,
        table["sha256"],
        table["licence"],
        _texts(name, table.get("text")),
        table.get("path"),
        repo,
        table.get("encoding"),
        table.get("pattern"),
        _special_tokens(name, table.get("special_tokens")),
    )


def _texts(name: str, tables: Any) -> tuple[Text, ...]:
    if not isinstance(tables, list) or not tables:
        raise EntryError(f"{name}: expected tables [[vocabulary.text]] with a text and its ids")
    texts = []
    for table in tables:
        is_table = isinstance(table, dict) and table.keys() <= _KEYS_OF_TEXT
        text, ids, decoded = (table.get(key) for key in ("text", "ids", "decoded")) if is_table else (None, None, None)
        is_ids = isinstance(ids, list) and all(type(id) is int for id in ids)
        if not isinstance(text, str) or not is_ids or not isinstance(decoded, (str, type(None))):
            raise EntryError(f"{name}: a [[vocabulary.text]] has text, ids (whole numbers) and perhaps decoded")
        texts.append(Text(text, tuple(ids or ()), decoded))
    return tuple(texts)


def _special_tokens(name: str, table: Any) -> dict[str, int] | None:
    if table is not None and not (isinstance(table, dict) and all(type(id) is int for id in table.values())):
        raise EntryError(f"{name}: special_tokens is {table!r}, expected a table of tokens with their ids")
    return table
