"""The page around its sections: no network, no script but its own, light and dark."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

from .markup import MARKS, text

BREAKS = "\n\t"
"""What a command may have besides text: it is shown, and copied, as it is."""


def page(title: str, kind: str, sections: Sequence[tuple[str, str, str]], banner: str, footer: str) -> str:
    """UTF-8 with a newline at the end. `sections` are (id, name in the navigation, HTML), of which empty ones are left
    out; `kind` is what the page calls itself, `banner` what stands above all sections.

    The page asks for nothing: styles and script are inline and named by digest in its Content-Security-Policy. One of
    the sections has a `command_box`.
    """
    style, script = (_resource(name) for name in ("page.css", "page.js"))
    shown = [each for each in sections if each[2]]
    links = "".join(f'<li><a href="#{name}">{text(said)}</a></li>' for name, said, _ in shown)
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{text(title)}</title>",
            # Without one, a server that hands the page out would be asked for /favicon.ico.
            '<link rel="icon" href="data:,">',
            f"<style>{style}</style>",
            f"<script>{script}</script>",
            "</head>",
            "<body>",
            MARKS,
            '<a class="skip" href="#main">To the report</a>',
            f'<header class="top"><p class="brand">crayon-hf <span>{text(kind)}</span></p>',
            f'<nav aria-label="On this page"><ul>{links}</ul></nav>',
            '<button type="button" id="theme" aria-pressed="false" hidden>Dark</button></header>',
            '<main id="main" tabindex="-1">',
            banner,
            *(part for *_, part in shown),
            "</main>",
            f"<footer><p>{footer}</p></footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def command_box(command: str) -> str:
    """A command with a button that copies it."""
    return (
        '<div class="command"><pre id="command" tabindex="0" aria-label="The command"><code>'
        f"{_command(command)}</code></pre>"
        '<div><button type="button" id="copy" aria-describedby="command" hidden>Copy</button>'
        '<span id="copied" role="status"></span></div></div>'
    )


def _command(command: str) -> str:
    """Each argument in an element of its own, so that lines break between arguments and not at their hyphens."""
    parts = re.split(f"([ {BREAKS}]+)", command)
    return "".join(
        text(part, keep=BREAKS) if place % 2 or not part else f"<span>{text(part)}</span>"
        for place, part in enumerate(parts)
    )


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip()


def _digest(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"
