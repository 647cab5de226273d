"""The documentation as a site: it builds without a warning, and each page is readable in a real browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import CONTRAST, LEAST_CONTRAST, WIDTHS, size

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

WIDE = """
() => [...document.querySelectorAll("article *")]
    .filter((element) => !element.closest(".table-wrapper, .picture, pre, .sig, .headerlink"))
    .filter((element) => element.checkVisibility())
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
    .map((element) => element.tagName + " " + element.textContent.slice(0, 60))
"""
COLOURS = ("index", "api", "tutorial", "command-line", "gpu")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("furo")
    directory = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-q", "-j", "auto", "-c", "docs/site", "-b", "html"]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(directory)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-3000:]
    return directory


def test_every_page_is_readable(site: Path, browser: Any) -> None:
    """Each page loads without an error, fits a narrow window, and has enough contrast in the light and the dark
    theme."""
    pages = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    pages.remove(site / "index.html")  # leads to docs/index.html
    assert len(pages) > 25
    wrong: list[Any] = []
    page = browser.new_page(viewport=size(min(WIDTHS)))
    page.on("console", lambda message: wrong.append((page.url, message.text)))
    page.on("pageerror", lambda error: wrong.append((page.url, str(error))))
    for path in pages:
        page.goto(path.as_uri())
        wrong += [(path.name, what) for what in page.evaluate(WIDE)[:3]]
        # All pages share the theme's colours, and these pages use all of them.
        for scheme in ("light", "dark") if path.stem in COLOURS else ():
            page.emulate_media(color_scheme=scheme)
            weak = [each for each in page.evaluate(CONTRAST) if each[0] < LEAST_CONTRAST]
            wrong += [(path.name, scheme, *each) for each in weak[:3]]
    assert wrong == []
