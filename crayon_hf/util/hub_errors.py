"""Recognises errors of the Hub's client ``huggingface_hub`` by the names of their base classes.

The client's version decides which library sends its requests, and so which classes some errors have.
"""

from __future__ import annotations

TRANSPORT = ("TransportError", "RequestException", "XetDownloadError")
"""Base classes of errors of a connection or a download."""


def is_unavailable(error: Exception) -> bool:
    """Whether the client cannot get a file: it does not exist, access is denied, or the Hub is unreachable.

    The client raises ValueError for invalid repository names. Some of its own errors derive from Exception directly.
    """
    own = any(base.__module__.partition(".")[0] == "huggingface_hub" for base in type(error).__mro__)
    return own or isinstance(error, (OSError, ValueError)) or is_transport(error)


def is_transport(error: BaseException) -> bool:
    """Whether this is an error of `TRANSPORT`."""
    return any(base.__name__ in TRANSPORT for base in type(error).__mro__)
