"""What a client's script says of itself, and what it is given: tokenizers, texts, a directory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clients import texts

__all__ = ["Client", "Kit", "Tasks"]

Tasks = Iterator[tuple[str, Callable[[], object]]]
"""What a script's ``tasks(kit)`` gives: names, and calls whose results are compared and whose time is taken."""


@dataclass(frozen=True)
class Client:
    """A library that uses tokenizers, and how ours is put in."""

    packages: tuple[str, ...]
    """What pip installs, the library first."""
    no_deps: tuple[str, ...] = ()
    """What pip installs without its requirements: too large, or nothing that this machine can have."""
    install: tuple[str, ...] = ("transformers",)
    """The arguments of `crayon_hf.install` that are true. None: the script puts ours in itself."""
    how: str = ""
    """How ours is put in, where that is not `install` alone."""
    note: str = ""
    """What a reader has to know of the row: what is stubbed, what takes the time."""
    environ: dict[str, str] = field(default_factory=dict)
    """Variables of the environment, beside those that every client has."""
    library: str = ""
    """The library that the row is of, where that is not the first that pip installs."""
    row: str = ""
    """What the row is called, where a library has several."""
    rounds: int = 5

    @property
    def distribution(self) -> str:
        """The name of the library, without the version that pip is asked for."""
        return self.library or re.split(r"[\[<>=]", (self.packages + self.no_deps)[0])[0]

    @property
    def name(self) -> str:
        """What the row is called."""
        return self.row or self.distribution

    @property
    def put_in(self) -> str:
        """How ours is put in, in Markdown."""
        if self.how:
            return self.how
        return f"`install({', '.join(f'{name}=True' for name in self.install if name != 'transformers')})`"


@dataclass(frozen=True)
class Kit:
    """What a script is given. It is the same on both sides but for `ours`."""

    ours: bool
    cache: Path
    work: Path
    """An empty directory that the process runs in."""

    def directory(self, name: str) -> str:
        """A directory with a tokenizer.json, its configuration and a config.json."""
        return str(self.cache / "vocabularies" / name)

    def file(self, name: str) -> str:
        """The tokenizer.json of that directory."""
        return f"{self.directory(name)}/tokenizer.json"

    def model(self, name: str) -> str:
        """A directory with a small random model, as `clients.models` makes them, and its tokenizer."""
        return str(self.cache / "models" / name)

    def texts(self, count: int, size: int = 2048, kind: str = "english") -> list[str]:
        """Different documents of so many bytes or some less: ``english``, ``code`` or ``multi``."""
        return texts.documents(kind, count, size)

    def tokenizer_class(self) -> Any:
        """``tokenizers.Tokenizer``, or ours: for scripts whose only difference is that import."""
        if self.ours:
            import crayon_hf as tokenizers
        else:
            import tokenizers  # type: ignore[no-redef]
        return tokenizers.Tokenizer
