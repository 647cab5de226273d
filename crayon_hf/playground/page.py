"""Renders the playground's two pages: a live page that asks a server, and a static page that contains its data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.display.html import PALETTE, plain_text
from crayon_hf.display.tokens import Options, Tokenization, marks
from crayon_hf.util.page.rendering import render

from .derivations import Derivations
from .requests import MOST_BYTES, MOST_NAMES, MOST_ROWS
from .rows import rows_of

if TYPE_CHECKING:
    from crayon_hf.cartridges.opened_source import AnyEngine


def live_page(names: Sequence[str], text: str) -> bytes:
    """Return the page that a server delivers, with the tokenizers and the text that it begins with.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    limits = {"names": MOST_NAMES, "bytes": MOST_BYTES, "rows": MOST_ROWS}
    return _page("Playground", {"live": True, "names": list(names), "text": text, "limits": limits})


def static_page(
    name: str, engine: AnyEngine, data: bytes, tokenizations: Sequence[Tokenization], options: Options, total: int
) -> bytes:
    """Return a page with the tokens of one text and their derivations.

    Args:
        name: The tokenizer's name.
        engine: The exact engine.
        data: The text to show, or its beginning.
        tokenizations: The tokens of `data` in one or two modes.
        options: The options of the encoding.
        total: The size of the whole text in bytes.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    panels = []
    for tokenization, marked in zip(
        tokenizations, marks([tokenization.segmentation for tokenization in tokenizations]), strict=True
    ):
        differing = marked.tolist()
        derivations = Derivations(engine, data, tokenization.segmentation, options, tokenization.name)
        indices: dict[str, int] = {}
        steps = [
            indices.setdefault(json.dumps(derivations.derive(i)), len(indices)) for i in range(len(tokenization.tokens))
        ]
        panels.append(
            {
                "name": tokenization.name,
                "count": len(tokenization.tokens),
                "differing": sum(differing),
                "note": "",
                "rows": rows_of(tokenization.tokens, differing),
                "steps": steps,
                "derivations": [json.loads(each) for each in indices],
            }
        )
    sizes = {"bytes": len(data), "left_out": total - len(data)}
    sizes |= {} if options.is_bytes else {"characters": len(data.decode())}
    title = f"Tokens of {plain_text(name)}"
    return _page(title, {"live": False, "is_bytes": options.is_bytes, "panels": panels} | sizes)


def _page(title: str, data: dict[str, Any]) -> bytes:
    colours = ";".join(f"--{name}:light-dark({light},{dark})" for name, (light, dark) in PALETTE.items())
    page = render(
        __package__,
        "page.html",
        own=("playground.css", "playground.js"),
        style=f".paints{{{colours}}}",
        title=f"{title} \u00b7 crayon-hf",
        heading=title,
        kind="playground" if data["live"] else "tokens",
        links=(),
        data=data,
    )
    return page.encode()
