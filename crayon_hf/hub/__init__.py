"""Cartridges on the Hugging Face Hub: `publish` and `pull`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crayon_hf.hub.publishing import publish
    from crayon_hf.hub.pulling import pull

__all__ = ["publish", "pull"]

_HOMES = {"publish": "publishing", "pull": "pulling"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
