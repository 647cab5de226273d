"""Starts a real Chromium (the one that CRAYON_BROWSER names, or an installed one) and measures the contrast of
pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WIDTHS = (390, 768, 1280)
LEAST_CONTRAST = 4.5
"""The least contrast of text with its background that WCAG allows."""

CONTRAST = """
() => {
  // Colours as the screen has them: a pixel of a canvas is drawn over and over with what lies below.
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const drawn = new Map();  // most texts of a page have the colours of others
  const pixel = (layers) => {
    const key = layers.join(" ");
    if (!drawn.has(key)) {
      for (const layer of layers) { pen.fillStyle = layer; pen.fillRect(0, 0, 1, 1); }
      drawn.set(key, [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3));
    }
    return drawn.get(key);
  };
  const below_text = new Map();  // and most elements are in the same ones
  const layers_of = (element) => {
    if (!element) return ["white"];
    if (!below_text.has(element)) {
      below_text.set(element, [...layers_of(element.parentElement), getComputedStyle(element).backgroundColor]);
    }
    return below_text.get(element);
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("svg, .unseen, .skip, script, style")) continue;
    if (!element.checkVisibility()) continue;
    const layers = layers_of(element);
    const below = luminance(pixel(layers));
    const above = luminance(pixel([...layers, getComputedStyle(element).color]));
    const contrast = (Math.max(above, below) + 0.05) / (Math.min(above, below) + 0.05);
    found.push([contrast, node.data.trim().slice(0, 40), element.className]);
  }
  return found;
}
"""
"""JavaScript that returns (contrast, text, CSS class) of each visible text in a page."""


@contextmanager
def started() -> Iterator[Any]:
    """Start the browser. If none is found, the test is skipped, or fails if CRAYON_BROWSER is set."""
    named = os.environ.get("CRAYON_BROWSER", "")
    program = shutil.which(named or "chromium") or (None if named else shutil.which("chromium-browser"))
    if not named and program is None:
        pytest.skip("no Chromium is installed (Debian: apt install chromium), and CRAYON_BROWSER names no browser")
    assert program is not None, f"CRAYON_BROWSER={named!r} is no program"
    if named:
        from playwright.sync_api import sync_playwright
    else:
        sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    with sync_playwright() as playwright:
        # The pages are ours; Chromium's own sandbox does not start as root.
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@contextmanager
def opened(browser: Any, path: Path | str, **options: Any) -> Iterator[Any]:
    """Open a page in a browser context of its own. At the end, check that the page had no errors, console messages or
    dialogs.

    `path` is a file or an address (a str). A file's page may request nothing else; an address's page may request only
    addresses that begin with its own.
    """
    address = path if isinstance(path, str) else path.as_uri()
    said: list[str] = []
    asked: list[str] = []
    context = browser.new_context(**options)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(address)
        yield page
        assert said == []
        urls = [url for url in asked if url != "data:,"]
        assert urls[0] == address
        assert all(isinstance(path, str) and url.startswith(address) for url in urls[1:])
    finally:
        context.close()


def size(width: int) -> dict[str, int]:
    return {"width": width, "height": 900}


def ground(page: Any) -> str:
    """The colour of the page's background."""
    found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return found


def is_readable(page: Any, texts: int) -> None:
    """Check that the page shows more than `texts` texts, all with enough contrast, in the light and the dark theme. The
    two themes must have different backgrounds."""
    grounds = set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        grounds.add(ground(page))
        contrasts = page.evaluate(CONTRAST)
        assert len(contrasts) > texts
        assert [each for each in contrasts if each[0] < LEAST_CONTRAST] == []
    assert len(grounds) == 2
