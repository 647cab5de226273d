"""Parity reports: the model, the run that makes one, and its pages."""

from __future__ import annotations

from .model import Report, ReportError
from .writing import write

__all__ = ["Report", "ReportError", "write"]
