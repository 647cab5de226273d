"""Exact and greedy: two ways to read one cartridge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf.errors import UnsupportedError

if TYPE_CHECKING:
    from crayon_hf import _core

MODES = ("exact", "greedy")


class Mode(NamedTuple):
    """How a tokenizer was opened. It is no part of the vocabulary, and no file holds it."""

    name: str = "exact"
    unknown: tuple[int, int] | None = None
    """(first, id): ids from `first` on are given as `id`. None in any mode but CRAYON's own."""

    def engine(self, engine: _core.Engine) -> _core.Engine:
        """The view of a cartridge that encodes in this mode."""
        return engine if self.name == "exact" else engine.greedy(self.unknown)

    def check_native(self, reason: str) -> None:
        """Refuse what the reference would have to encode, for the given reason: references have no greedy mode."""
        if self.name != "exact":
            raise UnsupportedError(
                f"{self.name} mode needs the native engine, which does not support this tokenizer ({reason})"
            )


EXACT = Mode()


def mode_of(name: Any) -> Mode:
    """The mode that an argument names. ValueError lists what there is."""
    if name not in MODES:
        raise ValueError(f"mode is {name!r}, expected {' or '.join(map(repr, MODES))}")
    return Mode(name)
