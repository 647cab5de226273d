"""The description of a client's script, and the kit that it receives: tokenizers, texts, a directory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clients import texts

__all__ = ["Client", "Kit", "Tasks"]

Tasks = Iterator[tuple[str, Callable[[], object]]]
"""The tasks that a script's ``tasks(kit)`` yields: a name, and a call whose results are compared and whose time is
measured."""


@dataclass(frozen=True)
class Client:
    """A library that uses tokenizers, and the way it gets ours."""

    packages: tuple[str, ...]
    """Requirements for pip, the library first."""
    no_deps: tuple[str, ...] = ()
    """Requirements installed without their dependencies, which are too large, or impossible on this machine."""
    install: tuple[str, ...] = ("transformers",)
    """The arguments of `crayon_hf.install` that are true. Empty if the script itself uses our tokenizer."""
    how: str = ""
    """How the library gets our tokenizer, if not by `install` alone."""
    note: str = ""
    """Notes for readers of the row in docs/compatibility.md, such as stubbed parts, and the parts that take the
    time."""
    environ: dict[str, str] = field(default_factory=dict)
    """Additional environment variables of this client."""
    library: str = ""
    """The library that the row names, if it is not the first that pip installs."""
    row: str = ""
    """The name of the row, if a library has several."""
    rounds: int = 5

    @property
    def distribution(self) -> str:
        """The name of the library, without the version requirement."""
        return self.library or re.split(r"[\[<>=]", (self.packages + self.no_deps)[0])[0]

    @property
    def name(self) -> str:
        """The name of the row."""
        return self.row or self.distribution

    @property
    def put_in(self) -> str:
        """How the library gets our tokenizer, in Markdown."""
        if self.how:
            return self.how
        return f"`install({', '.join(f'{name}=True' for name in self.install if name != 'transformers')})`"


@dataclass(frozen=True)
class Kit:
    """The argument of a script's `tasks`. Both sides, stock and ours, get the same except for `ours`."""

    ours: bool
    cache: Path
    work: Path
    """The process's working directory, empty at the start."""

    def directory(self, name: str) -> str:
        """Return a directory with a tokenizer.json, its configuration and a config.json."""
        return str(self.cache / "vocabularies" / name)

    def file(self, name: str) -> str:
        """Return the tokenizer.json of `directory(name)`."""
        return f"{self.directory(name)}/tokenizer.json"

    def model(self, name: str) -> str:
        """Return a directory with a small random model of `clients.models` and its tokenizer."""
        return str(self.cache / "models" / name)

    def texts(self, count: int, size: int = 2048, kind: str = "english") -> list[str]:
        """Return different documents of at most `size` bytes: ``english``, ``code`` or ``multi``."""
        return texts.documents(kind, count, size)

    def tokenizer_class(self) -> Any:
        """Return ``tokenizers.Tokenizer``, or ours: for scripts whose only difference is that import."""
        if self.ours:
            import crayon_hf as tokenizers
        else:
            import tokenizers  # type: ignore[no-redef]
        return tokenizers.Tokenizer
