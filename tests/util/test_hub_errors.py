"""Which errors mean that huggingface_hub cannot get a file. Any other error is a defect, and is raised."""

from __future__ import annotations

import pytest
from huggingface_hub import errors

from crayon_hf.util.hub_errors import is_unavailable


class TransportError(Exception):
    """The base class of connection errors in the library that carries the client's requests."""


class ReadError(TransportError):
    pass


@pytest.mark.parametrize(
    ("error", "is_so"),
    [
        (errors.LocalEntryNotFoundError("not cached"), True),
        (errors.EntryNotFoundError("not there"), True),
        (errors.HFValidationError("no name"), True),
        (ConnectionResetError(), True),
        (ReadError(), True),
        (TypeError("ours"), False),
        (AttributeError("ours"), False),
        (KeyError("ours"), False),
    ],
)
def test_errors(error, is_so):
    assert is_unavailable(error) == is_so
