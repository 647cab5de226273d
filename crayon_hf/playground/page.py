"""The page, from one template: live, where it asks a server, and static, where it has all that it shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.display.html import PALETTE, plain_text
from crayon_hf.display.tokens import Options, Way, marks
from crayon_hf.util.page.rendering import render

from .makings import Makings
from .requests import MOST_BYTES, MOST_NAMES, MOST_ROWS
from .rows import rows_of

if TYPE_CHECKING:
    from crayon_hf.tokenizer_state.state import AnyEngine


def live_page(names: Sequence[str], text: str) -> bytes:
    """The page that a server hands out; it begins with these tokenizers and this text. MissingExtraError."""
    limits = {"names": MOST_NAMES, "bytes": MOST_BYTES, "rows": MOST_ROWS}
    return _page("Playground", {"live": True, "names": list(names), "text": text, "limits": limits})


def static_page(name: str, engine: AnyEngine, data: bytes, ways: Sequence[Way], options: Options, total: int) -> bytes:
    """A page of one text, cut in one way or two by a tokenizer, with the steps to each token. MissingExtraError.

    `data` is the text that is shown, the beginning of one of `total` bytes; `engine` is the exact one, as `Makings`
    wants it.
    """
    panels = []
    for way, marked in zip(ways, marks([way.cut for way in ways]), strict=True):
        differing = marked.tolist()
        makings = Makings(engine, data, way.cut, options, way.name)
        made: dict[str, int] = {}
        steps = [made.setdefault(json.dumps(makings.of(i)), len(made)) for i in range(len(way.tokens))]
        panels.append(
            {
                "name": way.name,
                "count": len(way.tokens),
                "differing": sum(differing),
                "note": "",
                "rows": rows_of(way.tokens, differing),
                "steps": steps,
                "makings": [json.loads(each) for each in made],
            }
        )
    sizes = {"bytes": len(data), "left_out": total - len(data)}
    sizes |= {} if options.is_bytes else {"characters": len(data.decode())}
    title = f"Tokens of {plain_text(name)}"
    return _page(title, {"live": False, "of_bytes": options.is_bytes, "panels": panels} | sizes)


def _page(title: str, data: dict[str, Any]) -> bytes:
    colours = ";".join(f"--{name}:light-dark({light},{dark})" for name, (light, dark) in PALETTE.items())
    made = render(
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
    return made.encode()
