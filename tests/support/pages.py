"""A strict parser of HTML pages and fragments."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

VOID = {"br", "hr", "img", "input", "link", "meta", "wbr"}


class Page(HTMLParser):
    """Collects the elements of an HTML page, and its text outside styles and script. The page must be well nested."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.raw = {"style": "", "script": ""}
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in self.raw:
            self.raw[self._open[-1]] += data
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"a comment: {data!r}")

    def unknown_decl(self, data: str) -> None:
        pytest.fail(f"a declaration: {data!r}")
