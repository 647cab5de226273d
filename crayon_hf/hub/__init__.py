"""Cartridges on the Hugging Face Hub: `publish` and `pull`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crayon_hf.util.lazy import lazy

if TYPE_CHECKING:
    from crayon_hf.hub.publishing import publish
    from crayon_hf.hub.pulling import pull

__all__ = ["publish", "pull"]

__getattr__ = lazy(__name__, {"publish": "crayon_hf.hub.publishing", "pull": "crayon_hf.hub.pulling"})
