"""Screenshots of pages, as PNG with few colours: the parity report in docs/examples.

A screenshot's metadata has a digest of its page. So a test can detect a stale one without a browser, whose fonts and
bytes differ between machines.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[1]
WIDTH, HEIGHT, SCALE, COLORS = 1000, 760, 1.5, 48


def report() -> str:
    """Return a report as a page; `tools/examples.sh report` makes it."""
    from crayon_hf.parity.report import Report
    from crayon_hf.parity.report.html import to_html

    return to_html(Report.from_json((ROOT / "docs" / "examples" / "lite.json").read_bytes()))


PAGES: dict[str, Callable[[], str]] = {"report": report}


def paths(directory: Path) -> list[Path]:
    """Return the paths of the screenshots, light and dark."""
    return [directory / f"{name}{end}.png" for name in PAGES for end in ("", "-dark")]


def digest(name: str) -> str:
    """Return the digest of a page for the metadata of its screenshots."""
    return sha256(PAGES[name.removesuffix("-dark")]().encode()).hexdigest()


def digest_in(path: Path) -> str | None:
    """Return the digest in a screenshot's metadata."""
    from PIL import Image

    with Image.open(path) as picture:
        said = picture.info.get("page")
    return said if isinstance(said, str) else None


def take(directory: Path) -> Iterator[Path]:
    """Write missing or stale screenshots, and yield their paths. RuntimeError without a browser."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    stale = [path for path in paths(directory) if not path.exists() or digest_in(path) != digest(path.stem)]
    for path in stale:
        metadata = PngInfo()
        metadata.add_text("page", digest(path.stem))
        scheme: Literal["light", "dark"] = "dark" if path.stem.endswith("-dark") else "light"
        with Image.open(io.BytesIO(_taken(PAGES[path.stem.removesuffix("-dark")](), scheme))) as picture:
            few = picture.convert("RGB").quantize(COLORS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        few.save(path, optimize=True, pnginfo=metadata)
        yield path


def _taken(page: str, scheme: Literal["light", "dark"]) -> bytes:
    from playwright.sync_api import sync_playwright

    program = shutil.which(os.environ.get("CRAYON_BROWSER") or "chromium")
    if program is None:
        raise RuntimeError("Chromium is not found: apt install chromium, or name a browser in CRAYON_BROWSER")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        path = Path(place, "page.html")
        path.write_text(page, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        opened = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE, color_scheme=scheme
        )
        opened.goto(path.as_uri())
        data: bytes = opened.screenshot()
        browser.close()
    return data
