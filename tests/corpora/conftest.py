"""A setting and the inputs of tests of jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from crayon_hf.corpora.job import prefetch
from tests.corpora.job.job_cases import corpus


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job in this process waits until its reader threads have ended, however busy the machine is."""
    monkeypatch.setattr(prefetch, "_PATIENCE", None)


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with four files of JSON lines, which tests do not change."""
    directory = tmp_path_factory.mktemp("inputs")
    corpus(directory, 4)
    return directory
