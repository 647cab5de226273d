"""Compare vocabularies on texts: `compare` and the types of its result."""

from __future__ import annotations

from .measuring import compare
from .model import Comparison, Figures, Group, Measured

__all__ = ["Comparison", "Figures", "Group", "Measured", "compare"]
