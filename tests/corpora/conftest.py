"""A setting for all tests of jobs."""

from __future__ import annotations

import pytest

from crayon_hf.corpora.job import prefetch


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job in this process waits until its reader threads have ended, however busy the machine is."""
    monkeypatch.setattr(prefetch, "_PATIENCE", None)
