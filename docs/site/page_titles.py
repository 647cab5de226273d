"""A Sphinx extension: links show the titles of pages. In Markdown, for GitHub, they show file names."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform

FILE = re.compile(r"[\w-]+\.md")


class PageTitles(SphinxPostTransform):
    """Replaces the text of links such as ``[corpora.md](corpora.md#inputs)``, before MyST resolves them."""

    default_priority = 5

    def run(self, **_: Any) -> None:
        for link in self.document.findall(pending_xref):
            title = self.env.titles.get(link.get("reftarget", ""))
            if link.get("refdomain") == "doc" and title is not None and FILE.fullmatch(link.astext()):
                link[:] = [nodes.inline("", title.astext())]


def setup(app: Any) -> dict[str, Any]:
    app.add_post_transform(PageTitles)
    return {"parallel_read_safe": True}
