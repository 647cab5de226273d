"""The entry points by which inference servers install our tokenizers in each of their processes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import crayon_hf
from crayon_hf.patching.servers import register
from tests.support.child import said_by


@pytest.fixture(autouse=True)
def taken_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("CRAYON_INSTALL", raising=False)
    yield
    crayon_hf.uninstall()


def covered() -> set[str]:
    return {name.partition(".")[0] for name in crayon_hf.installed()}


def test_transformers_alone_and_twice_is_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "crayon_hf"):
        register()
    assert caplog.messages == ["installed in transformers"]
    first = crayon_hf.installed()
    assert "transformers.AutoTokenizer.from_pretrained" in first
    assert "tiktoken" not in covered()
    register()
    assert crayon_hf.installed() == first


@pytest.mark.parametrize(("value", "libraries"), [("0", set()), ("tiktoken", {"tiktoken"})])
def test_libraries_by_name(monkeypatch: pytest.MonkeyPatch, value: str, libraries: set[str]) -> None:
    monkeypatch.setenv("CRAYON_INSTALL", value)
    register()
    assert covered() == libraries


def test_an_unknown_name_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAYON_INSTALL", "transformers,vllm")
    with pytest.raises(ValueError, match="CRAYON_INSTALL: 'vllm' is unknown"):
        register()
    assert crayon_hf.installed() == {}


@pytest.mark.parametrize("group", ["vllm.general_plugins", "sglang.srt.plugins"])
def test_entry_point(group: str) -> None:
    """A server loads the function that pyproject.toml names in the entry point `group`. The function imports no library
    that the server has not imported."""
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    with (Path(__file__).resolve().parents[2] / "pyproject.toml").open("rb") as file:
        points = tomllib.load(file)["project"]["entry-points"][group]
    assert list(points) == ["crayon_hf"]
    assert EntryPoint("crayon_hf", points["crayon_hf"], group).load() is register
    module, _, name = points["crayon_hf"].partition(":")
    heavy = "numpy", "tokenizers", "tiktoken", "transformers", "torch"
    program = f"import sys; from {module} import {name}; {name}(); print([n for n in {heavy} if n in sys.modules])"
    assert said_by(program) == "[]"
