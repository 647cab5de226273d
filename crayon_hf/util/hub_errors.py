"""The errors of the Hub's client. Which library carries its requests, and with it some classes, depends on its
version, so those are known by the names of base classes."""

from __future__ import annotations

TRANSPORT = ("TransportError", "RequestException", "XetDownloadError")
"""What a connection fails with, or a download on the way."""


def is_unavailable(error: Exception) -> bool:
    """True for a file that the client does not get: it is not there, may not be read, or cannot be reached.

    A ValueError is its word for a name that no repository has. Some of its own errors derive from Exception alone.
    """
    own = any(base.__module__.partition(".")[0] == "huggingface_hub" for base in type(error).__mro__)
    return own or isinstance(error, (OSError, ValueError)) or is_transport(error)


def is_transport(error: BaseException) -> bool:
    """True for an error of `TRANSPORT`."""
    return any(base.__name__ in TRANSPORT for base in type(error).__mro__)
