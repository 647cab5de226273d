"""The documentation has every public name, variable and error; its drawings and examples are what the code gives."""

from __future__ import annotations

import argparse
import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pictures
import pytest
import screenshots

import crayon_hf
from crayon_hf.cli.parser import GROUPS, build_parser
from tests.support.versions import before_1

ROOT = Path(__file__).parents[2]
ELSEWHERE = ("crayon_hf.tiktoken.", "crayon_hf.adapters")
"""Modules with a library's names, which documents them, or whose libraries are not installed: docs/chunking.md."""
DOCS = ROOT / "docs"


SHOWN = re.compile(
    r"^from (crayon_hf\.[\w.]+) import ([\w, ]+?)(?:  #.*)?$|\bcrayon_hf\.([a-z_.]+)\.(\w+)\(", re.MULTILINE
)


def public_names() -> set[str]:
    """Those of the package and of its modules for users, and what a page imports or calls."""
    names = {f"crayon_hf.{name}" for name in crayon_hf.__all__}
    for module in (crayon_hf.budgets, crayon_hf.tiktoken):
        names |= {f"{module.__name__}.{name}" for name in module.__all__}
    for page in (ROOT / "README.md", *DOCS.glob("*.md")):
        text = re.sub("<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for module, imported, calls, called in SHOWN.findall(text):
            names |= {f"{module}.{name}" for name in imported.split(", ") if name}
            names |= {f"crayon_hf.{calls}.{called}"} if called else set()
    return names


def ours() -> Iterator[tuple[str, Any]]:
    """The public names that are neither modules nor the library's own objects."""
    seen: list[Any] = []
    for name in sorted(public_names()):
        module, _, attribute = name.rpartition(".")
        if module.startswith(ELSEWHERE) or "._" in name:
            continue
        value = getattr(importlib.import_module(module), attribute)
        home = str(getattr(value, "__module__", ""))
        if home.startswith("crayon_hf") and not home.startswith("crayon_hf.implementations") and value not in seen:
            seen.append(value)
            yield name, value


def methods(value: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that we define."""
    for name in dir(value):
        owner = next(each for each in value.__mro__ if name in vars(each))
        if not name.startswith("_") and owner.__module__.startswith("crayon_hf"):
            yield name, inspect.getattr_static(value, name)


@pytest.mark.slow
@before_1("transformers beside it")
def test_every_public_name_is_explained() -> None:
    """By a docstring with an example, or with a page that has one; methods by a docstring."""
    for name, value in ours():
        text = (vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__) or ""
        assert text.strip(), f"{name} has no docstring"
        if inspect.isclass(value) and issubclass(value, Exception):
            continue  # test_every_error_is_listed
        pages = re.findall(r"docs/[\w/-]+\.md", text)
        assert ">>> " in text or pages, f"the docstring of {name} has no example, and names no page with one"
        assert all((ROOT / page).is_file() for page in pages), f"the docstring of {name} names a page that is not there"
        for method, member in methods(value) if inspect.isclass(value) else ():
            said = re.sub(rf"^{method}\(.*", "", inspect.getdoc(member) or "")  # which pybind11 writes by itself
            assert said.strip(), f"{name}.{method} has no docstring"


@pytest.mark.slow
@before_1("transformers beside it")
def test_every_public_name_is_in_the_reference() -> None:
    text = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    for name, value in ours():
        if not (inspect.isclass(value) and issubclass(value, Exception)):
            assert re.search(rf"^\.\. auto(class|function):: {name}$", text, re.MULTILINE), name


def test_every_error_is_listed() -> None:
    text = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    names = {name for name, value in vars(crayon_hf.errors).items() if inspect.isclass(value)}
    derived = re.compile(rf"^class (\w+)\((?:{'|'.join(names)})\b", re.MULTILINE)
    for path in ROOT.glob("crayon_hf/**/*.py"):
        names |= set(derived.findall(path.read_text(encoding="utf-8")))
    assert {name for name in names - {"CrayonError", "DeviceError"} if f"\n| `{name}` |" not in text} == set()


def test_every_environment_variable_is_listed() -> None:
    text = (DOCS / "reference" / "environment.md").read_text(encoding="utf-8")
    sources = [*ROOT.glob("crayon_hf/**/*.py"), *(ROOT / "cpp").rglob("*.*"), *ROOT.glob("[ch]*/device.*")]
    found = {name for path in sources for name in re.findall(r'"(CRAYON_\w+)"', path.read_text(encoding="utf-8"))}
    assert len(found) > 5
    other = {"CRAYON_SHARED", "CRAYON_V2"}  # of the tests, and a name in an enumeration
    assert {name for name in found - other if f"`{name}`" not in text} == set()


def test_every_option_has_a_help() -> None:
    """The page of commands is what the parser says."""
    (commands,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    assert sorted(commands.choices) == sorted(name for _, group in GROUPS for name in group)
    without = [
        (name, action.option_strings or action.dest)
        for name, command in commands.choices.items()
        for action in command._actions
        if not action.help
    ]
    assert without == []


@pytest.mark.parametrize(("path", "svg"), [pytest.param(*each, id=each[0].name) for each in pictures.drawn()])
def test_drawings_are_what_the_command_draws(path: Path, svg: str) -> None:
    assert path.read_text(encoding="utf-8") == svg, "make pictures"


@pytest.mark.slow
@pytest.mark.parametrize("path", screenshots.paths(pictures.TO), ids=lambda path: path.name)
def test_screenshots_are_of_the_page_as_it_is(path: Path) -> None:
    """By the digest of the page that they were taken of. Bytes and fonts are those of a browser."""
    pytest.importorskip("PIL")
    assert screenshots.digest_in(path) == screenshots.digest(path.stem), "make pictures"
    assert path.stat().st_size < 60_000


def test_every_picture_is_shown() -> None:
    pages = [ROOT / "README.md", *DOCS.glob("**/*.md")]
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [path.name for path in pictures.TO.iterdir() if f'pictures/{path.name}"' not in shown] == []


def modules() -> list[str]:
    """Those with examples."""
    paths = {path: path.relative_to(ROOT).with_suffix("") for path in ROOT.glob("crayon_hf/**/*.py")}
    names = {path: ".".join(place.parts).removesuffix(".__init__") for path, place in paths.items()}
    return sorted(name for path, name in names.items() if ">>> " in path.read_text(encoding="utf-8"))


@before_1("transformers beside it")
@pytest.mark.parametrize("name", modules())
def test_examples_of_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module: ModuleType = importlib.import_module(name)
    finder = doctest.DocTestFinder()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    given = {"crayon_hf": crayon_hf}
    for value in (module, crayon_hf.Encoding) if name == "crayon_hf.tokenizer" else (module,):  # a compiled class
        tests = [test for test in finder.find(value, name, extraglobs=given) if test.examples]
        assert tests
        for test in tests:
            runner.run(test)
    crayon_hf.uninstall()  # what an example has installed
    assert runner.failures == 0
