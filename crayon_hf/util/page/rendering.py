"""Pages from Jinja templates: no network, no script but their own, light and dark.

`base.html` is the frame and `parts.html` has macros; a report's template is beside its code. All output is escaped, and
invisible characters are spelled out.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from crayon_hf.util.extras import needed
from crayon_hf.util.wording import plural

from .words import count, large, visible

__all__ = ["BREAKS", "render"]

BREAKS = "\n\t"
"""White space that a command may have: it is shown and copied unchanged."""


def render(package: str, template: str, **context: Any) -> str:
    """Render a template of a package that extends `base.html`. MissingExtraError without jinja2.

    The context has `title`, `kind` (the page's own word for itself) and `links`: (id, name) of its sections. Styles and
    script are inline; the Content-Security-Policy names their digests.
    """
    page: str = _environment(package).get_template(template).render(context)
    return page


@cache
def _environment(package: str) -> Any:
    with needed("a page", "report"):
        import jinja2
        from markupsafe import Markup, escape

    def literal(value: str) -> Markup:
        """Text with visible spaces: the style sheet marks each, and copying gives a plain space."""
        if not value:
            return Markup("<i>the empty text</i>")
        spaced = escape(visible(value)).replace(" ", Markup("<span> </span>"))
        return Markup('<code class="literal">{}</code>').format(spaced)

    def arguments(command: str) -> Markup:
        """Put each argument into an element of its own, so that lines break between arguments, not at hyphens."""
        parts = re.split(f"([ {BREAKS}]+)", command)
        return Markup("").join(
            escape(visible(part, keep=BREAKS))
            if place % 2 or not part
            else Markup("<span>{}</span>").format(visible(part))
            for place, part in enumerate(parts)
        )

    def resource(name: str) -> Markup:
        return Markup(files("crayon_hf.util.page").joinpath(name).read_text(encoding="utf-8").strip())

    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(each, "") for each in (package, "crayon_hf.util.page")]),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        literal=literal,
        arguments=arguments,
        digest=lambda text: f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}",
    )
    environment.globals.update(
        count=count, large=large, plural=plural, style=resource("page.css"), script=resource("page.js")
    )
    return environment
