"""Relative links lead to files of the repository, and their anchors to headings, in README and other pages on GitHub.

The build of the site checks its own pages, but neither README nor links in HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
CARD = ROOT / "docs" / "examples" / "card" / "README.md"
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
