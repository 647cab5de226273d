"""Take screenshots of the parity report in docs/examples and of the playground, as PNG with a small palette.

A screenshot's metadata has the digest of its page, so that a test detects a stale one without a browser. A comparison
of images would fail, since fonts differ between machines.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WIDTH, HEIGHT, SCALE, COLORS = 1000, 760, 1.5, 48


TOKENIZERS = ["lite", "standard"]
TEXT = "Reinstall na\u00efve caf\u00e9s: photosynthesis, 12,345 isotopes\nand <|endoftext|> tokenizers"

CLICKED = "thesis, id "


def report() -> str:
    """Return the page of the report that `tools/examples.sh report` writes."""
    from crayon_hf.parity.report import Report
    from crayon_hf.parity.report.html import to_html

    return to_html(Report.from_json((ROOT / "docs" / "examples" / "lite.json").read_bytes()))


@contextmanager
def open_report(browser_page: Any) -> Iterator[None]:
    """Open the report from a file."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "page.html")
        path.write_text(report(), encoding="utf-8")
        browser_page.goto(path.as_uri())
        yield


def playground() -> str:
    """Return the playground's page and the tokens that it shows."""
    from crayon_hf.playground.page import live_page
    from crayon_hf.playground.requests import Request
    from crayon_hf.playground.session import Session

    fields: dict[str, Any] = {"text": TEXT, "names": TOKENIZERS, "first": 0, "count": 100}
    fields |= {"add_special_tokens": True, "special_as_text": False}
    answer = Session(str).encode(Request(json.dumps(fields).encode()))
    return live_page(TOKENIZERS, TEXT).decode() + json.dumps(answer)


@contextmanager
def open_playground(browser_page: Any) -> Iterator[None]:
    """Open the playground from its server, with the comparison with the reference and the derivation of a token."""
    from crayon_hf.playground.server import Server
    from crayon_hf.playground.session import Session

    with Server(Session(str), TOKENIZERS, TEXT) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser_page.goto(server.address)
        browser_page.get_by_role("switch").check()
        for panel in browser_page.locator(".tokens-panel").all():
            panel.locator(".checked.yes").wait_for()
        for panel in browser_page.locator(".tokens-panel").all():
            panel.get_by_role("button", name=CLICKED).click()
            panel.locator(".derivation h3").wait_for()
        browser_page.evaluate("document.activeElement.blur()")
        browser_page.mouse.move(0, 0)
        browser_page.evaluate("window.scrollTo(0, 60)")  # scroll past the header, for the derivation to fit
        yield
        server.shutdown()


class Shot(NamedTuple):
    """A page to take a screenshot of."""

    content: Callable[[], str]
    """Returns the content that the screenshot depends on."""
    open: Callable[[Any], Any]
    """Returns a context manager that shows the page in a browser's page."""


PAGES = {"report": Shot(report, open_report), "playground": Shot(playground, open_playground)}


def paths(directory: Path) -> list[Path]:
    """Return the paths of all screenshots in a directory, light and dark."""
    return [directory / f"{name}{end}.png" for name in PAGES for end in ("", "-dark")]


def digest(name: str) -> str:
    """Return the digest of the page of the screenshot `name`."""
    return sha256(PAGES[name.removesuffix("-dark")].content().encode()).hexdigest()


def digest_in(path: Path) -> str | None:
    """Return the digest in a screenshot's metadata."""
    from PIL import Image

    with Image.open(path) as picture:
        found = picture.info.get("page")
    return found if isinstance(found, str) else None


def take(directory: Path) -> Iterator[Path]:
    """Write missing or stale screenshots, and yield their paths. RuntimeError without a browser."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    stale = [path for path in paths(directory) if not path.exists() or digest_in(path) != digest(path.stem)]
    for path in stale:
        metadata = PngInfo()
        metadata.add_text("page", digest(path.stem))
        scheme: Literal["light", "dark"] = "dark" if path.stem.endswith("-dark") else "light"
        with Image.open(io.BytesIO(_taken(PAGES[path.stem.removesuffix("-dark")], scheme))) as picture:
            reduced = picture.convert("RGB").quantize(COLORS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        reduced.save(path, optimize=True, pnginfo=metadata)
        yield path


def _taken(shot: Shot, scheme: Literal["light", "dark"]) -> bytes:
    from playwright.sync_api import sync_playwright

    program = shutil.which(os.environ.get("CRAYON_BROWSER") or "chromium")
    if program is None:
        raise RuntimeError("no Chromium found: run apt install chromium, or set CRAYON_BROWSER to a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE, color_scheme=scheme
        )
        with shot.open(page):
            data: bytes = page.screenshot()
        browser.close()
    return data
