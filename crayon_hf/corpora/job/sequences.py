"""Packed sequences, from the packer to the shards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Sequences(NamedTuple):
    """Some sequences, one after the other."""

    ids: npt.NDArray[Any]
    splits: npt.NDArray[np.int64]
    """Where each sequence begins, and the last one ends."""
    pieces: npt.NDArray[np.int64]
    """Where each piece of a document (and each padding) begins, and the last one ends."""
    padding: npt.NDArray[np.int64]
    """Of each sequence, how many tokens at its end are padding."""
