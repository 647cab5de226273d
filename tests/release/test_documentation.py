"""The documentation lists every environment variable and error, and its drawings and examples equal the code's
output."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pictures
import pytest
import screenshots

import crayon_hf
from tests.support.versions import before_1

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


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
    other = {"CRAYON_SHARED", "CRAYON_V2"}  # a variable of the tests, and a name in an enumeration
    assert {name for name in found - other if f"`{name}`" not in text} == set()


@pytest.mark.parametrize(("path", "svg"), [pytest.param(*each, id=each[0].name) for each in pictures.drawn()])
def test_drawings_are_what_the_command_draws(path: Path, svg: str) -> None:
    assert path.read_text(encoding="utf-8") == svg, "make pictures"


@pytest.mark.slow
@pytest.mark.parametrize("path", screenshots.paths(pictures.TO), ids=lambda path: path.name)
def test_screenshots_are_of_the_page_as_it_is(path: Path) -> None:
    """A screenshot contains the digest of the page that it shows, because its own bytes depend on the browser and its
    fonts."""
    pytest.importorskip("PIL")
    assert screenshots.digest_in(path) == screenshots.digest(path.stem), "make pictures"
    assert path.stat().st_size < 60_000


def modules() -> list[str]:
    """The names of the package's modules that have examples in docstrings."""
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
    for value in (
        (module, crayon_hf.Encoding) if name == "crayon_hf.tokenizer.tokenizer" else (module,)
    ):  # a compiled class
        tests = [test for test in finder.find(value, name, extraglobs=given) if test.examples]
        assert tests
        for test in tests:
            runner.run(test)
    crayon_hf.uninstall()  # examples call install
    assert runner.failures == 0
