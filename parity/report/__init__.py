"""Parity reports: the model, the run that makes one, and its pages."""

from __future__ import annotations
