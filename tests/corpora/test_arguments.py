"""Inputs as other processes find them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crayon_hf.corpora.arguments import all_absolute


def test_inputs_and_mixtures_get_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = os.getcwd()
    assert all_absolute("in") == [f"{here}/in"]
    assert all_absolute([Path("in"), "s3://bkt/in"]) == [f"{here}/in", "s3://bkt/in"]
    mixture = {"web": {"inputs": "in", "repeat": 2}, "code": {"inputs": ["s3://bkt/in", "more"]}}
    assert all_absolute(mixture) == {
        "web": {"inputs": [f"{here}/in"], "repeat": 2},
        "code": {"inputs": ["s3://bkt/in", f"{here}/more"]},
    }
