"""Write a report as files."""

from __future__ import annotations

import os
from pathlib import Path

from crayon_hf.util.files import write_atomic

from .model import Report

JSON, MARKDOWN, HTML = "parity.json", "parity.md", "parity.html"


def write(
    report: Report,
    directory: str | os.PathLike[str] | None = None,
    *,
    json: str | os.PathLike[str] | None = None,
    markdown: str | os.PathLike[str] | None = None,
    html: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Write ``parity.json``, ``.md`` and ``.html`` into a directory, and single files to the given paths.

    All files are rendered before the first one is written, and each file appears whole or not at all. An OSError names
    the path that the caller gave. docs/parity.md has examples.

    Returns:
        The paths of the written files.
    """
    wanted: list[tuple[str, Path]] = []
    if directory is not None:
        wanted += [(form, Path(directory) / f"parity.{form}") for form in ("json", "md", "html")]
    given = (("json", json), ("md", markdown), ("html", html))
    wanted += [(form, Path(path)) for form, path in given if path is not None]
    made = [(path, _made(report, form).encode()) for form, path in wanted]
    if directory is not None:
        os.makedirs(directory, exist_ok=True)
    for path, data in made:
        try:
            write_atomic(path, data)
        except OSError as error:  # its path is that of a temporary file
            raise OSError(error.errno, error.strerror, str(path)) from error
    return [path for path, _ in made]


def _made(report: Report, form: str) -> str:
    if form == "json":
        return report.to_json()
    if form == "md":
        from .markdown import to_markdown

        markdown: str = to_markdown(report)
        return markdown
    from .html import to_html

    html: str = to_html(report)
    return html
