"""The modes in which a tokenizer encodes: exact (the reference library's ids) and greedy (longest match)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf.errors import UnsupportedError

if TYPE_CHECKING:
    from crayon_hf import _core

MODES = ("exact", "greedy")


class Mode(NamedTuple):
    """The mode that a tokenizer was opened in. It is not part of the vocabulary, and files do not store it."""

    name: str = "exact"
    unknown: tuple[int, int] | None = None
    """(first, id): the engine replaces all ids from `first` on with `id`. Used only to give the ids of CRAYON."""

    def engine(self, engine: _core.Engine) -> _core.Engine:
        """Return the view of a cartridge that encodes in this mode."""
        return engine if self.name == "exact" else engine.greedy(self.unknown)

    def check_native(self, reason: str) -> None:
        """Raise UnsupportedError in greedy mode, which reference libraries lack. Called before one of them encodes.

        `reason` says why our engine cannot encode.
        """
        if self.name != "exact":
            raise UnsupportedError(
                f"{self.name} mode needs the native engine, which does not support this tokenizer ({reason})"
            )


EXACT = Mode()


def mode_of(name: Any) -> Mode:
    """Return the mode that an argument names. Raise ValueError, which lists the modes, for another name."""
    if name not in MODES:
        raise ValueError(f"mode is {name!r}, expected {' or '.join(map(repr, MODES))}")
    return Mode(name)
