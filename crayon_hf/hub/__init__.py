"""Cartridges on the Hugging Face Hub: `publish` and `pull`."""

from __future__ import annotations
