"""The page of a report in a real browser: Debian's Chromium, or the one that CRAYON_BROWSER names."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crayon_hf.parity.report.html import to_html
from tests.parity.report_samples import SAMPLES, agreeing
from tests.support.browser import CONTRAST, LEAST_CONTRAST, started

pytestmark = pytest.mark.slow

WIDTHS = (390, 768, 1280)

# Of parts that must be told apart from what lies around them, 3 to 1 is asked for.
MARKS = """
() => [".banner .mark", ".bar .ours", ".bar .reference", ".bar .tick"].map((part) => {
  const style = getComputedStyle(document.querySelector(part));
  return [part, style.fill, style.stroke, style.backgroundColor];
})
"""

WIDE = """
() => {
  const inside = (element) => element.closest(".scroll, .unseen, .sprite, .skip, thead");
  return [...document.body.querySelectorAll("*")]
    .filter((element) => !inside(element) && element.getBoundingClientRect().right > innerWidth + 0.5)
    .map((element) => element.tagName + "." + element.getAttribute("class"));
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One for this file."""
    with started() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report pages")
    for name, make in SAMPLES.items():
        (directory / f"{name}.html").write_text(to_html(make()), encoding="utf-8")
    return directory


@contextmanager
def opened(browser: Any, path: Path, **options: Any) -> Iterator[Any]:
    """The page in a context of its own; at the end nothing may have been said, gone wrong or been asked for."""
    said: list[str] = []
    asked: list[str] = []
    context = browser.new_context(**options)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(path.as_uri())
        yield page
        assert said == []
        assert [url for url in asked if url != "data:,"] == [path.as_uri()]
    finally:
        context.close()


def size(width: int) -> dict[str, int]:
    return {"width": width, "height": 900}


@pytest.mark.parametrize("name", ["agreeing", "differing", "failing", "empty", "hostile"])
def test_it_opens_in_both_themes_with_readable_text(browser: Any, pages: Path, name: str) -> None:
    grounds = set()
    with opened(browser, pages / f"{name}.html", viewport=size(1280)) as page:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            contrasts = page.evaluate(CONTRAST)
            assert len(contrasts) > 30
            assert [each for each in contrasts if each[0] < LEAST_CONTRAST] == []
    assert len(grounds) == 2


@pytest.mark.parametrize("name", ["agreeing", "failing", "huge", "hostile"])
def test_nothing_reaches_over_the_edge(browser: Any, pages: Path, name: str) -> None:
    with opened(browser, pages / f"{name}.html", viewport=size(WIDTHS[0])) as page:
        for width in WIDTHS:
            page.set_viewport_size(size(width))
            page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(WIDE) == []


def test_a_phone_zooms_nothing_out(browser: Any, pages: Path) -> None:
    options = {
        "viewport": {"width": 390, "height": 844},
        "device_scale_factor": 3,
        "is_mobile": True,
        "has_touch": True,
    }
    with opened(browser, pages / "huge.html", **options) as page:
        assert page.evaluate("[innerWidth, visualViewport.scale]") == [390, 1]


def test_landmarks_and_names(browser: Any, pages: Path) -> None:
    with opened(browser, pages / "differing.html") as page:
        for role in ("banner", "main", "contentinfo"):
            assert page.get_by_role(role).count() == 1, role
        assert page.get_by_role("navigation", name="On this page").count() == 1
        assert page.get_by_role("heading", level=1).inner_text() == "3 differences"
        for region in ("Differences", "Agreement by category", "Suites", "Speed, side by side", "To repeat it"):
            assert page.get_by_role("region", name=region, exact=True).count() == 1, region
        links = page.get_by_role("navigation").get_by_role("link")
        assert links.count() == 6
        for place in range(6):
            assert page.locator(links.nth(place).get_attribute("href")).count() == 1
        bar = page.get_by_role("img", name="crayon-hf: 402 MB/s")
        assert bar.count() == 1
        assert "398 to 409" in bar.locator("desc").text_content()
        assert page.get_by_role("img").count() == 2 * len(agreeing().speeds)


def test_the_table_of_suites_is_a_table_on_a_phone_too(browser: Any, pages: Path) -> None:
    for width in (390, 1280):
        with opened(browser, pages / "agreeing.html", viewport=size(width)) as page:
            table = page.get_by_role("table", name="What was compared, suite by suite")
            assert table.get_by_role("row").count() == 6
            assert table.get_by_role("columnheader").count() == 5
            assert table.get_by_role("rowheader").count() == 5
            assert table.get_by_role("cell").count() == 20


def test_the_theme_is_changed_and_kept_by_keyboard(browser: Any, pages: Path) -> None:
    def ground(page: Any) -> str:
        found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return found

    for scheme, pressed in (("light", "false"), ("dark", "true")):
        with opened(browser, pages / "agreeing.html", color_scheme=scheme) as page:
            before = ground(page)
            button = page.get_by_role("button", name="Dark")
            assert button.get_attribute("aria-pressed") == pressed
            focus_by_tab(page, "theme")
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            page.keyboard.press("Enter")
            changed = ground(page)
            assert changed != before
            assert button.get_attribute("aria-pressed") != pressed
            page.keyboard.press("Space")
            assert ground(page) == before
            page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
            assert ground(page) == before, "a choice stays when the system's changes"


def test_a_chosen_theme_is_remembered(browser: Any, pages: Path) -> None:
    context = browser.new_context(color_scheme="light")
    try:
        page = context.new_page()
        page.goto((pages / "agreeing.html").as_uri())
        page.get_by_role("button", name="Dark").click()
        assert scheme_of(page) == "dark"
        # A browser stores behind the page's back: a page loaded at once, by another process, may be before it.
        ends = time.monotonic() + 30
        page.reload()
        while scheme_of(page) != "dark" and time.monotonic() < ends:
            page.reload()
        assert scheme_of(page) == "dark"
        assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"
    finally:
        context.close()


def scheme_of(page: Any) -> str:
    scheme: str = page.evaluate("getComputedStyle(document.documentElement).colorScheme")
    return scheme


@pytest.mark.parametrize("denied", [False, True])
@pytest.mark.parametrize("name", ["agreeing", "hostile"])
def test_the_command_is_copied_by_keyboard(browser: Any, pages: Path, name: str, denied: bool) -> None:
    """With the clipboard's interface, and where a browser has none for files."""
    with opened(browser, pages / f"{name}.html") as page:
        if denied:
            page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        focus_by_tab(page, "copy")
        page.keyboard.press("Enter")
        page.get_by_text("Copied", exact=True).wait_for()
        assert page.evaluate("document.activeElement.id") == "copy"
        page.evaluate("document.body.prepend(Object.assign(document.createElement('textarea'), { id: 'paste' }))")
        page.locator("#paste").focus()
        page.keyboard.press("Control+V")
        pasted = page.locator("#paste").input_value()
        assert pasted == page.locator("#command").text_content()
        if name != "hostile":
            assert pasted == SAMPLES[name]().command


def test_a_refused_copy_says_so(browser: Any, pages: Path) -> None:
    with opened(browser, pages / "agreeing.html") as page:
        page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error('denied')))")
        page.evaluate("void (document.execCommand = () => false)")
        page.get_by_role("button", name="Copy").click()
        page.get_by_text("Not copied: select the command instead").wait_for()


def test_differences_unfold_by_keyboard(browser: Any, pages: Path) -> None:
    with opened(browser, pages / "huge.html") as page:
        details = page.locator("details")
        assert [details.nth(place).get_attribute("open") is not None for place in range(5)] == [True] * 3 + [False] * 2
        details.nth(3).locator("summary").focus()
        page.keyboard.press("Enter")
        assert details.nth(3).locator(".values").is_visible()


def test_equal_parts_of_a_difference_stand_above_each_other(browser: Any, pages: Path) -> None:
    with opened(browser, pages / "differing.html") as page:
        ends = page.evaluate(
            "[...document.querySelectorAll('.values code')].slice(0, 4).map((c) => c.getBoundingClientRect().right)"
        )
        assert ends[0] == pytest.approx(ends[1], abs=0.5)
        assert ends[2] == pytest.approx(ends[3], abs=0.5)


def test_without_script_the_page_is_whole(browser: Any, pages: Path) -> None:
    with opened(browser, pages / "differing.html", java_script_enabled=False) as page:
        assert page.get_by_role("heading", level=1).is_visible()
        assert page.get_by_role("button").count() == 0
        assert page.locator("#command").is_visible()


def test_forced_colours_keep_marks_and_bars_visible(browser: Any, pages: Path) -> None:
    with opened(browser, pages / "differing.html", forced_colors="active") as page:
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        for part, fill, stroke, _ in page.evaluate(MARKS):
            drawn = [color for color in (fill, stroke) if color != "none"]
            assert any(color != ground for color in drawn), part
        assert page.evaluate("getComputedStyle(document.querySelector('.key .ours')).backgroundColor") != ground


def test_print_is_light_and_shows_what_is_folded(browser: Any, pages: Path) -> None:
    with opened(browser, pages / "huge.html", color_scheme="dark") as page:
        page.get_by_role("button", name="Dark").click()
        page.get_by_role("button", name="Dark").click()
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(23, 28, 36)"
        assert not page.locator("#theme").is_visible()
        assert not page.locator("#copy").is_visible()
        last = page.locator("details").last
        assert last.get_attribute("open") is None
        assert last.locator(".values").is_visible()
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_motion_is_only_for_those_who_want_it(browser: Any, pages: Path) -> None:
    for wish, behaviour in (("reduce", "auto"), ("no-preference", "smooth")):
        with opened(browser, pages / "agreeing.html", reduced_motion=wish) as page:
            assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == behaviour


def focus_by_tab(page: Any, name: str) -> None:
    """Tab until the element has the focus."""
    for _ in range(300):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    pytest.fail(f"#{name} is not reached by Tab")
