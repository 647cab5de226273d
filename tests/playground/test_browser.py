"""The playground in a real browser: typing, columns, steps and checks, by mouse and by keyboard, at any width."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crayon_hf import Tokenizer
from crayon_hf.display.cells import plain
from crayon_hf.playground.server import Server
from tests.cli.shell import good
from tests.playground.client import HALF, HOSTILE, TEXTS, served, with_other_merges
from tests.support.browser import WIDTHS, is_readable, opened, size
from tests.support.command import call

pytestmark = pytest.mark.slow

IDS = """
(column) => [...document.querySelectorAll(".tokens-panel")][column].querySelectorAll(".tokens .t").values()
  .map((token) => Number(/, id (\\d+), /.exec(token.getAttribute("aria-label"))[1])).toArray()
"""
DESIGNS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def server(gpt2_like: Path, template_like: Path) -> Iterator[Server]:
    with served(gpt2_like, template_like, text="Hello") as server:
        yield server


@contextmanager
def page_of(browser: Any, server: Server, width: int = 1280, scheme: str = "light") -> Iterator[Any]:
    with opened(browser, server.address, viewport=size(width), color_scheme=scheme) as page:
        page.locator(".tokens .t").first.wait_for()
        yield page


def becomes(page: Any, script: str, wanted: Any, argument: Any = None) -> None:
    """Poll until a script returns `wanted`. The page's Content-Security-Policy blocks `page.wait_for_function`."""
    deadline = time.monotonic() + 600
    while (found := page.evaluate(script, argument)) != wanted:
        assert time.monotonic() < deadline, (found, wanted)
        page.wait_for_timeout(20)


def shows(page: Any, column: int, ids: list[int]) -> None:
    """Wait until a column shows these ids; it may still show those of an earlier text."""
    becomes(page, IDS, ids, column)


def scrolled(page: Any, column: int, least: int) -> list[int]:
    """Scroll a column down until it has `least` tokens, and return their ids."""
    box = page.locator(".tokens-panel").nth(column).locator(".tokens")
    deadline = time.monotonic() + 600
    while len(found := page.evaluate(IDS, column)) < least:
        assert time.monotonic() < deadline, (len(found), least)
        box.evaluate("(box) => box.scrollTo(0, box.scrollHeight)")
        page.wait_for_timeout(30)
    ids: list[int] = found
    return ids


def engine(path: Path) -> Any:
    return Tokenizer.from_file(path)._current_engine()


def ids_of(path: Path, text: str, special: bool = True, as_text: bool = False) -> list[int]:
    found: list[int] = engine(path).encode_ids(text, special, as_text)
    return found


@pytest.mark.parametrize(("width", "scheme"), DESIGNS)
def test_typing(browser: Any, server: Server, gpt2_like: Path, template_like: Path, width: int, scheme: str) -> None:
    """The page shows the engine's ids of each text; a click shows merges, and a switch compares with the reference."""
    with page_of(browser, server, width, scheme) as page:
        box = page.get_by_label("Text", exact=True)
        for text in (*TEXTS, *HOSTILE):
            box.fill("")
            box.fill(text)
            typed = box.input_value()
            for column, path in enumerate((gpt2_like, template_like)):
                shows(page, column, ids_of(path, typed))
        assert page.title() == "Playground · crayon-hf"
        box.fill("")
        box.press_sequentially("the quick brown fox jumps", delay=1)
        ids = ids_of(gpt2_like, "the quick brown fox jumps")
        shows(page, 0, ids)
        panel = page.locator(".tokens-panel").first
        assert panel.locator("[data-field=count]").inner_text() == str(len(ids))
        assert panel.locator("[data-field=characters]").inner_text() == f"{25 / len(ids):.2f}"
        assert page.locator("#sizes").inner_text() == "25 characters, 25 bytes"

        place, longest = max(enumerate(ids), key=lambda each: len(engine(gpt2_like).id_to_bytes(each[1]) or b""))
        panel.locator(".tokens .t").nth(place).click()
        name = plain(engine(gpt2_like).id_to_bytes(longest) or b"")
        steps = panel.locator(".steps tbody tr")
        steps.first.wait_for()
        assert steps.last.locator("td").nth(2).inner_text() == str(longest)
        assert steps.last.locator(".new").inner_text() == name
        assert page.evaluate("document.activeElement.className") == "derivation"
        page.keyboard.press("Escape")
        assert panel.locator(".derivation").is_hidden()
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(f"{name}, id {longest}, ")

        page.get_by_role("switch").check()
        for each in page.locator(".tokens-panel").all():
            each.locator(".checked.yes").wait_for()
            assert "The same " in each.locator(".checked").inner_text()
            ours, theirs = (row.locator("td").all_inner_texts() for row in each.locator(".ids tr").all())
            assert ours == theirs != []
        box.fill("the quick")
        shows(page, 0, ids_of(gpt2_like, "the quick"))
        page.get_by_text(f"The same {len(ids_of(gpt2_like, 'the quick'))} ids").wait_for()
        page.get_by_role("switch").uncheck()
        becomes(page, "[...document.querySelectorAll('.checked')].some((each) => each.checkVisibility())", False)
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_options(browser: Any, server: Server, template_like: Path) -> None:
    text = "[CLS] crayon x"
    with page_of(browser, server) as page:
        page.get_by_label("Text", exact=True).fill(text)
        shows(page, 1, ids_of(template_like, text))
        page.get_by_label("add special tokens").uncheck()
        shows(page, 1, ids_of(template_like, text, special=False))
        page.get_by_label("parse special tokens in the text").uncheck()
        shows(page, 1, ids_of(template_like, text, special=False, as_text=True))


def test_columns(
    browser: Any, server: Server, llama3_like: Path, gpt2_like: Path, template_like: Path, tmp_path: Path
) -> None:
    """Up to four columns open tokenizers by name, and an error stays in its column."""
    with page_of(browser, server) as page:
        page.get_by_label("Text", exact=True).fill("the quick brown")
        page.get_by_role("button", name="Add a tokenizer").click()
        panel = page.locator(".tokens-panel").nth(2)
        panel.get_by_label("Tokenizer").fill(str(tmp_path / "none.json"))
        panel.get_by_role("button", name="Open").click()
        panel.get_by_text("No such file or directory (still showing the tokens of").wait_for()
        page.get_by_label("Text", exact=True).fill("the quick brown ")
        for column in (0, 2):  # a new column begins with the last one's tokenizer
            shows(page, column, ids_of((gpt2_like, None, template_like)[column], "the quick brown "))
        assert panel.get_by_role("alert").is_visible()
        page.get_by_label("Text", exact=True).fill("the quick brown")
        shutil.copy(llama3_like, tmp_path / "none.json")
        panel.get_by_role("button", name="Open").click()
        shows(page, 2, ids_of(llama3_like, "the quick brown"))
        assert panel.locator(".problem").is_hidden()
        panel.get_by_label("Tokenizer").fill(str(with_other_merges(gpt2_like, tmp_path / "x.json")))
        panel.get_by_label("Tokenizer").press("Enter")
        shows(page, 2, ids_of(tmp_path / "x.json", "the quick brown"))
        differing = panel.locator(".tokens .differs")
        assert differing.count() > 3
        assert differing.first.get_attribute("aria-label").endswith(", differs")
        page.get_by_text(f"{differing.count()} of them differ").wait_for(state="attached")  # for screen readers
        page.get_by_role("button", name="Add a tokenizer").click()
        shows(page, 3, ids_of(tmp_path / "x.json", "the quick brown"))
        assert page.get_by_role("button", name="Add a tokenizer").is_disabled()
        for left in (3, 2, 1):
            page.get_by_role("button", name="Remove").first.click()
            becomes(page, "document.querySelectorAll('.tokens-panel').length", left)
        shows(page, 0, ids_of(tmp_path / "x.json", "the quick brown"))
        becomes(page, "document.querySelectorAll('.tokens .differs').length", 0)
        assert page.get_by_role("button", name="Remove").count() == 0


def test_a_difference_from_the_reference(browser: Any, gpt2_like: Path, tmp_path: Path) -> None:
    """The tokenizer.json changes after our tokenizer is open, so the reference opens another vocabulary, and the page
    shows the difference."""
    path = tmp_path / "tokenizer.json"
    shutil.copy(gpt2_like, path)
    with served(path, text=" the quick") as server, page_of(browser, server) as page:
        with_other_merges(gpt2_like, path)
        page.get_by_role("switch").check()
        page.locator(".checked.no").wait_for()
        assert "the first difference is at token 2" in page.locator(".checked").inner_text()
        assert page.locator(".ids .other").count() > 2


def test_by_keyboard(browser: Any, server: Server, gpt2_like: Path) -> None:
    with page_of(browser, server) as page:
        page.get_by_label("Text", exact=True).fill("the quick brown fox")
        ids = ids_of(gpt2_like, "the quick brown fox")
        shows(page, 0, ids)
        page.get_by_label("Text", exact=True).focus()
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.matches('.t')"):
                break
        focused = "document.activeElement.getAttribute('aria-label')"
        assert f", id {ids[0]}, " in page.evaluate(focused)
        assert f"id {ids[0]}\n" in page.locator("#tip").inner_text()
        page.keyboard.press("ArrowRight")
        assert f", id {ids[1]}, " in page.evaluate(focused)
        assert f"id {ids[1]}\n" in page.locator("#tip").inner_text()
        page.keyboard.press("End")
        assert f", id {ids[-1]}, " in page.evaluate(focused)
        page.keyboard.press("Enter")
        page.locator(".derivation h3").first.wait_for()
        assert f"id {ids[-1]}" in page.locator(".derivation h3").first.inner_text()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # Close
        assert f", id {ids[-1]}, " in page.evaluate(focused)
        page.keyboard.press("Tab")  # the next column: the tokens of a column are one tab stop
        assert page.evaluate("document.activeElement.closest('.tokens-panel').querySelector('h2').id") != (
            page.locator(".tokens-panel h2").first.get_attribute("id")
        )


def test_accessible_names(browser: Any, server: Server) -> None:
    with page_of(browser, server) as page:
        unnamed = """
        [...document.querySelectorAll("input, textarea, button, [tabindex='0'], section, [role=group]")].filter(
          (each) => each.checkVisibility() && !(each.labels?.length || each.textContent.trim() || each.ariaLabel
                    || each.getAttribute("aria-labelledby")))
        """
        assert page.evaluate(f"{unnamed}.map((each) => each.outerHTML.slice(0, 80))") == []
        page.get_by_label("Text", exact=True).fill("the quick brown fox")
        page.get_by_role("status").get_by_text("19 characters, 19 bytes; ").wait_for(state="attached")
        assert page.evaluate("new Set([...document.querySelectorAll('[id]')].map((each) => each.id)).size") == (
            page.evaluate("document.querySelectorAll('[id]').length")
        )


def test_a_long_text(browser: Any, server: Server, gpt2_like: Path) -> None:
    """The page draws a part of the tokens at once, and the rest while scrolling."""
    text = "the quick brown fox jumps over the lazy dog. " * 2300
    ids = ids_of(gpt2_like, text)
    with page_of(browser, server) as page:
        page.get_by_label("Text", exact=True).fill(text)
        panel = page.locator(".tokens-panel").first
        panel.locator(f"[data-field=count]:text-is('{len(ids):,}')").wait_for()
        drawn = page.evaluate(IDS, 0)
        assert drawn == ids[: len(drawn)]
        assert len(drawn) <= 900
        assert panel.locator(".rest").inner_text().endswith(" more tokens")
        shown = scrolled(page, 0, 2000)
        assert shown == ids[: len(shown)]
        page.get_by_label("Text", exact=True).fill("x" * (1 << 20))
        page.get_by_text("The text is too long").wait_for()
        page.get_by_label("Text", exact=True).fill("x")
        shows(page, 0, ids_of(gpt2_like, "x"))
        assert page.locator("#problem").is_hidden()


def test_half_of_a_surrogate_pair(browser: Any, server: Server, gpt2_like: Path) -> None:
    with page_of(browser, server) as page:
        type_it = """(text) => { const box = document.getElementById("text"); box.value = JSON.parse(text);
                     box.dispatchEvent(new Event("input")); }"""
        page.evaluate(type_it, '"half \\ud83d of a pair"')
        page.get_by_text("half of a surrogate pair (U+D83D)").wait_for()
        assert HALF == "half \ud83d of a pair"
        page.get_by_label("Text", exact=True).fill("x")
        shows(page, 0, ids_of(gpt2_like, "x"))


@pytest.mark.parametrize("live", [True, False])
def test_pages_are_readable_and_fit(browser: Any, server: Server, gpt2_like: Path, tmp_path: Path, live: bool) -> None:
    path = tmp_path / "page.html"
    text = "".join(HOSTILE) + "w" * 300
    good(call("inspect", "--html", path, "-t", gpt2_like, "--mode", "both", stdin=text))
    with opened(browser, server.address if live else path, viewport=size(1280)) as page:
        if live:
            page.get_by_label("Text", exact=True).fill(text)
            page.get_by_role("switch").check()
            page.locator(".checked.yes").first.wait_for()
        for panel in page.locator(".tokens-panel").all():
            panel.locator(".tokens .t").nth(3).click()
            panel.locator(".derivation h3").wait_for()
        is_readable(page, 60)
        for width in WIDTHS:
            page.set_viewport_size(size(width))
            page.locator(".tokens .t").nth(20).hover()
            page.locator("#tip").wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_static_page(browser: Any, gpt2_like: Path, tmp_path: Path) -> None:
    """A static page contains its data and works from a file, without requests."""
    text = "an unlikely concatenation " * 300
    path = tmp_path / "page.html"
    good(call("inspect", "--html", path, "-t", gpt2_like, "--mode", "both", "--all", stdin=text))
    exact = engine(gpt2_like)
    with opened(browser, path, viewport=size(1280)) as page:
        for column, ids in enumerate((exact.encode_ids(text), exact.greedy().encode_ids(text))):
            panel = page.locator(".tokens-panel").nth(column)
            assert scrolled(page, column, len(ids)) == ids
            assert panel.locator("h2").inner_text() == ("exact", "greedy")[column]
            panel.locator(".tokens .t").nth(5).click()
            assert f"id {ids[5]}" in panel.locator(".derivation h3").inner_text()
            assert panel.locator(".steps tbody tr").count() > 1
        assert page.locator("form, textarea").count() == 0
        assert page.locator(".tokens .differs").count() > 10
