"""The page of a report in a real browser: Debian's Chromium, or the one that CRAYON_BROWSER names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crayon_hf.parity.report.html import to_html
from tests.parity.report_samples import SAMPLES
from tests.support.browser import opened

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report pages")
    for name, make in SAMPLES.items():
        (directory / f"{name}.html").write_text(to_html(make()), encoding="utf-8")
    return directory


@pytest.mark.parametrize("denied", [False, True])
@pytest.mark.parametrize("name", ["agreeing", "hostile"])
def test_the_command_is_copied_by_keyboard(browser: Any, pages: Path, name: str, denied: bool) -> None:
    """The report's command is copied with the browser's clipboard interface, and if `denied` without it."""
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


def focus_by_tab(page: Any, name: str) -> None:
    """Press Tab until the element with the id `name` has the focus."""
    for _ in range(300):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    pytest.fail(f"#{name} is not reached by Tab")
