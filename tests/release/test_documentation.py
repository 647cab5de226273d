"""The documentation lists every environment variable and error, its drawings and examples equal the code's output, and
its links lead to files and headings."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

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
    of_a_compiled_class = [crayon_hf.Encoding] if name == "crayon_hf.tokenizer.tokenizer" else []
    for value in (module, *of_a_compiled_class):
        tests = [test for test in finder.find(value, name, extraglobs=given) if test.examples]
        assert tests
        for test in tests:
            runner.run(test)
    crayon_hf.uninstall()  # examples call install
    assert runner.failures == 0


# -- relative links: the build of the site checks its own pages, but neither README nor links in HTML

CARD = DOCS / "examples" / "card" / "README.md"
"""A page that is left out: its links are relative to a repository on the Hub."""
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - {CARD})
CODE = re.compile(r"^```.*?^```$|<!--.*?-->|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
ADDRESS = re.compile(r"[a-z]+:")


def links(page: Path) -> Iterator[str]:
    """The relative links of a page."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    yield from (found for pair in LINK.findall(text) for found in pair if found and not ADDRESS.match(found))


def anchors(page: Path) -> set[str]:
    """The anchors of the headings, as GitHub spells them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.M)}


def broken(page: Path) -> list[str]:
    """The relative links of a page whose target does not exist."""
    found = []
    for link in links(page):
        path, _, anchor = unquote(link).partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page(page: Path) -> None:
    assert broken(page) == []
