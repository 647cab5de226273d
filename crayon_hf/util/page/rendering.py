"""HTML pages from Jinja templates: self-contained, light and dark.

`base.html` is the base template and `parts.html` has macros; a report's template is in the package of its code. All
output is escaped, and invisible characters are spelled out.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from crayon_hf.util.extras import needed
from crayon_hf.util.wording import plural

from .words import count, large, visible

__all__ = ["BREAKS", "render"]

_HERE = "crayon_hf.util.page"

BREAKS = "\n\t"
"""The white space of commands that is shown and copied unchanged."""


def render(package: str, template: str, *, own: Sequence[str] = (), style: str = "", **context: Any) -> str:
    """Render a template that extends `base.html`.

    Styles and scripts are inline, and the Content-Security-Policy has their digests.

    Args:
        package: The package of the template.
        template: The template's file name.
        own: Names of ``.css`` and ``.js`` files of the package to include.
        style: CSS to include after the base style.
        **context: The template's variables. `base.html` needs `title`, `kind` (the kind of page, as "report"), and
            `links`, the (id, name) of each section.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    environment = _environment(package)
    texts = {name: _text(package, name) for name in own}
    styles = [_text(_HERE, "page.css"), style, *(text for name, text in texts.items() if name.endswith(".css"))]
    scripts = [_text(_HERE, "page.js"), *(text for name, text in texts.items() if name.endswith(".js"))]
    context |= {"page_styles": list(filter(None, styles)), "page_scripts": scripts}
    page: str = environment.get_template(template).render(context)
    return page


def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8").strip()


@cache
def _environment(package: str) -> Any:
    with needed("a page", "report"):
        import jinja2
        from markupsafe import Markup, escape

    def literal(value: str) -> Markup:
        """Wrap each space for the style sheet to mark. A copy of the text has plain spaces."""
        if not value:
            return Markup("<i>the empty text</i>")
        spaced = escape(visible(value)).replace(" ", Markup("<span> </span>"))
        return Markup('<code class="literal">{}</code>').format(spaced)

    def arguments(command: str) -> Markup:
        """Wrap each argument in an element, so that lines break between arguments and not at hyphens."""
        parts = re.split(f"([ {BREAKS}]+)", command)
        return Markup("").join(
            escape(visible(part, keep=BREAKS))
            if place % 2 or not part
            else Markup("<span>{}</span>").format(visible(part))
            for place, part in enumerate(parts)
        )

    def digests(texts: Sequence[str]) -> Markup:
        """Return the digests by which a Content-Security-Policy allows these inline scripts or styles."""
        found = (b64encode(sha256(text.encode()).digest()).decode() for text in texts)
        return Markup("".join(f" 'sha256-{digest}'" for digest in found))

    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(each, "") for each in (package, _HERE)]),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(literal=literal, arguments=arguments, digests=digests)
    environment.globals.update(count=count, large=large, plural=plural)
    return environment
