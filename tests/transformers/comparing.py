"""Results of calls in a comparable form: value or error, with every type that a user can see."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.support.reference_impl import record


class Raised:
    """The class of a raised error. A bare Exception of the reference equals a ValueError of ours."""

    def __init__(self, kind: type[Exception]) -> None:
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Raised):
            return False
        kinds = {self.kind, other.kind}
        return len(kinds) == 1 or (
            Exception in kinds and all(issubclass(kind, ValueError) for kind in kinds - {Exception})
        )

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"raises {self.kind.__name__}"


def outcome(call: Callable[[], Any]) -> Any:
    """The plain form of `call`'s result or exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(call())
        except Exception as error:
            return Raised(type(error))


def plain(value: Any) -> Any:
    """Turn a result into dicts, lists and scalars that compare by contents, including the types of arrays."""
    if isinstance(value, Mapping):
        return {
            "type": type(value).__name__,
            "items": [(key, plain(item)) for key, item in value.items()],
            "sequences": getattr(value, "n_sequences", None),
            "encodings": encodings(getattr(value, "encodings", None)),
        }
    if isinstance(value, np.ndarray):
        rows = [plain(row) for row in value] if value.dtype == object else value.tolist()
        return "numpy", str(value.dtype), value.shape, rows
    if type(value).__module__ == "torch":
        return "torch", str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return type(value).__name__, value


def encodings(values: Any) -> Any:
    """All fields of the encodings of a batch."""
    return values and [record(one) | {"overflowing": encodings(one.overflowing)} for one in values]
