"""Parity reports: the class `Report`, the run that makes a report, and its forms as JSON, Markdown and HTML."""

from __future__ import annotations

from .model import Report, ReportError
from .writing import write

__all__ = ["Report", "ReportError", "write"]
