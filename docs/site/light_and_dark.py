"""A Sphinx extension: turns a Markdown ``<picture>``, which GitHub shows by theme, into an image for each theme."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

PICTURE = re.compile(
    r"<picture>\s*"
    r'<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">\s*'
    r'<img alt="(?P<alt>[^"]+)" src="(?P<light>[^"]+)">\s*'
    r"</picture>"
)


class LightAndDark(SphinxTransform):
    """Runs before Sphinx collects images. The HTML theme defines the classes."""

    default_priority = 200

    def apply(self, **_: Any) -> None:
        for raw in list(self.document.findall(nodes.raw)):
            if "<picture" not in raw.astext():
                continue
            found = PICTURE.fullmatch(raw.astext().strip())
            if found is None:
                raise ExtensionError(f"{raw.source}:{raw.line}: a <picture> must look like the one in README.md")
            images = (
                nodes.image(uri=found[theme], alt=found["alt"], classes=[f"only-{theme}"])
                for theme in ("light", "dark")
            )
            raw.replace_self(nodes.paragraph("", "", *images, classes=["picture"]))


def setup(app: Any) -> dict[str, Any]:
    app.add_transform(LightAndDark)
    return {"parallel_read_safe": True}
