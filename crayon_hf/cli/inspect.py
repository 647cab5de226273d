"""``crayon-hf inspect``: the tokens of a text, and how they were made."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.cli.arguments import UsageError, add_command, add_special, add_tokenizer
from crayon_hf.cli.commands import read_input, utf8
from crayon_hf.cli.tokenizers import open_named, plain_name
from crayon_hf.errors import UnsupportedError

if TYPE_CHECKING:
    from crayon_hf.display.tokens import Difference, Token, Way
    from crayon_hf.tokenizer_state.state import AnyEngine


def add_inspect(subparsers: Any) -> None:
    """What ``inspect`` takes."""
    command = add_command(
        subparsers,
        "inspect",
        inspect,
        "show the tokens of a text",
        "Shows a text with its tokens in colour, and a table of them. White space and control characters are made "
        "visible, and a token that is a part of a character shows its bytes.",
        (
            ('crayon-hf inspect "Hello, world!"', "tokens in colour, and a table"),
            ('crayon-hf inspect "Hello, world!" --trace', "every merge, and every step of longest match"),
            ("crayon-hf inspect -f poem.txt --html poem.html", "a page for a browser"),
        ),
    )
    command.add_argument("text", nargs="?", help='the text; "-", or none at all, reads standard input')
    command.add_argument("-f", "--file", metavar="FILE", help="read the text from a file")
    add_tokenizer(command)
    command.add_argument("--trace", action="store_true", help="show every merge, and every walk of longest match")
    command.add_argument(
        "--mode",
        choices=("exact", "greedy", "both"),
        help="the reference's ids, longest match, or both side by side (default: exact; with --trace both)",
    )
    command.add_argument("--ids", action="store_true", help="write ids into the text instead of a table below it")
    command.add_argument("--html", metavar="FILE", help='write a page for a browser; "-" is the standard output')
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.add_argument(
        "--color",
        "--colour",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours (default: auto, on a terminal unless NO_COLOR is set)",
    )
    command.add_argument(
        "--no-color", "--no-colour", dest="color", action="store_const", const="never", help="no colours"
    )
    add_special(command)


def inspect(arguments: argparse.Namespace) -> int:
    """The tokens of one text, in colour; with --trace every merge and every walk on the trie."""
    # Most commands do not need these.
    from crayon_hf.cli.colour import paint_for, terminal_width
    from crayon_hf.cli.inspect_trace import Trace, TraceView
    from crayon_hf.cli.inspect_view import View
    from crayon_hf.display.tokens import Options, Way, differences, tokens_of

    if arguments.html is not None and (arguments.json or arguments.trace):
        raise UsageError("--html cannot be combined with --json or --trace")
    data = read_input(arguments.text, arguments.file)
    if not arguments.bytes:
        utf8(data)
    tokenizer = open_named(arguments.tokenizer)
    mode = arguments.mode or ("both" if arguments.trace else "exact")
    engine = tokenizer._current_engine()
    options = Options(arguments.bytes, not arguments.no_special, arguments.special_as_text)
    ways = []
    if mode != "greedy":
        ways.append(Way("exact", tokens_of(engine, data, options)))
    if mode != "exact":
        ways.append(Way("greedy", tokens_of(_native(engine).greedy(), data, options)))
    places = differences(ways[0].tokens, ways[1].tokens) if len(ways) == 2 else []
    trace = Trace(_native(engine), data, mode, options) if arguments.trace else None
    if arguments.html is not None:
        _write_page(arguments, data, ways, places)
        return 0
    if arguments.json:
        report = _report(arguments, data, ways, places)
        _write(json.dumps(report if trace is None else report | {"trace": trace.report()}))
        return 0
    paint, width = paint_for(sys.stdout, arguments.color), terminal_width()
    View(_write, paint, width).show(data, ways, places, is_text=not arguments.bytes, with_ids=arguments.ids)
    if trace is not None:
        TraceView(_write, paint, width).show(trace)
    return 0


def _write_page(arguments: argparse.Namespace, data: bytes, ways: list[Way], places: list[Difference]) -> None:
    from crayon_hf.cli.inspect_view import places_of
    from crayon_hf.display.html import fragment, page
    from crayon_hf.util.files import write_atomic

    unit = "bytes" if arguments.bytes else "chars"
    size = f"{len(data):,} bytes" if arguments.bytes else f"{len(data.decode()):,} characters, {len(data):,} bytes"
    shown = []
    for side, way in enumerate(ways):
        count = f"{len(way.tokens):,} token{'' if len(way.tokens) == 1 else 's'}"
        title = f"{way.name}: {count} ({size})"
        shown.append(fragment(way.tokens, title, differing=places_of(places, side), unit=unit))
    made = page(f"crayon-hf inspect, {plain_name(arguments.tokenizer)}", shown)
    if arguments.html == "-":
        _write(made.removesuffix("\n"))
        return
    write_atomic(arguments.html, made.encode("utf-8", "replace"))
    _write(f"wrote {arguments.html}")


def _write(line: str) -> None:
    sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")


def _native(engine: AnyEngine) -> _core.Engine:
    if isinstance(engine, _core.Engine):
        return engine
    raise UnsupportedError(f"greedy mode and traces need a native tokenizer, but this one is not: {engine.reason}")


# -- the report


def _report(arguments: argparse.Namespace, data: bytes, ways: list[Way], places: list[Difference]) -> dict[str, Any]:
    report: dict[str, Any] = {"tokenizer": plain_name(arguments.tokenizer)}
    report |= {"bytes": data.hex()} if arguments.bytes else {"text": data.decode()}
    for way in ways:
        report[way.name] = {"count": len(way.tokens), "tokens": [_token_report(token) for token in way.tokens]}
    if len(ways) == 2:
        report["differences"] = [
            {"start": place.start, "end": place.end, ways[0].name: place.tokens[0], ways[1].name: place.tokens[1]}
            for place in places
        ]
    return report


def _token_report(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "token": token.token,
        "bytes": token.data.hex(),
        "start": token.start,
        "end": token.end,
        "added": token.is_added,
        "inserted": token.is_inserted,
    }
