"""Vocabularies compared on texts: `compare`, and what it gives."""

from __future__ import annotations

from .measuring import compare
from .model import Comparison, Figures, Group, Measured

__all__ = ["Comparison", "Figures", "Group", "Measured", "compare"]
