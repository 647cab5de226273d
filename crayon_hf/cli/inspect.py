"""``crayon-hf inspect``: the tokens of a text, and the steps that produced them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from click import Choice

from crayon_hf import _core
from crayon_hf.cli.arguments import BYTES, JSON, SPECIAL, TOKENIZER, Arguments, UsageError, command, option
from crayon_hf.cli.inputs import INPUTS, one_input, utf8
from crayon_hf.cli.tokenizers import open_named, plain_name
from crayon_hf.errors import UnsupportedError

if TYPE_CHECKING:
    from crayon_hf.cartridges.opened_source import AnyEngine
    from crayon_hf.display.tokens import Difference, Token, Tokenization
    from crayon_hf.tokenizer import Tokenizer

_MOST = 1000
"""The most tokens that are shown without --all."""


@command(
    "inspect",
    examples=(
        ('crayon-hf inspect "Hello, world!"', "tokens in colour, and a table"),
        ('crayon-hf inspect "Hello, world!" --trace', "every merge, and every step of longest match"),
        ("crayon-hf inspect poem.txt --html poem.html", "a page for a browser"),
    ),
)
@INPUTS
@TOKENIZER
@option("--trace", is_flag=True, help="show every merge, and every walk of longest match")
@option(
    "--mode",
    type=Choice(("exact", "greedy", "both")),
    help="the reference's ids, longest match, or both side by side (default: exact; with --trace both)",
)
@option("--spelling", is_flag=True, help="add a column with the vocabulary's spelling of each token")
@option("--all", is_flag=True, help=f"show all of a text with more than {_MOST:,} tokens")
@option("--ids", is_flag=True, help="write ids into the text instead of a table below it")
@option("--html", metavar="FILE", help='write a page for a browser; "-" is the standard output')
@JSON
@option(
    *("--color", "--colour"),
    type=Choice(("auto", "always", "never")),
    default="auto",
    help="colours (default: auto, on a terminal unless NO_COLOR is set)",
)
@option("--no-color", "--no-colour", is_flag=True, help="no colours")
@SPECIAL
@BYTES
def inspect(arguments: Arguments) -> int:
    """Shows a text with its tokens in colour, and a table of them.

    White space and control characters are visible. A token that is part of a character shows its bytes.
    """
    # Most commands do not need these.
    from crayon_hf.cli.colour import paint_for, terminal_width
    from crayon_hf.cli.inspect_trace import TraceView
    from crayon_hf.cli.inspect_view import View
    from crayon_hf.display.tokens import Options, Tokenization, differences, tokens_of
    from crayon_hf.display.trace import Trace

    if arguments.html is not None and (arguments.json or arguments.trace):
        raise UsageError("--html cannot be combined with --json or --trace")
    data = one_input(arguments, "inspect")
    if not arguments.bytes:
        utf8(data)
    tokenizer = open_named(arguments.tokenizer)
    mode = arguments.mode or ("both" if arguments.trace else "exact")
    engine = tokenizer._current_engine()
    head = data if arguments.all or arguments.json else _head(tokenizer, data, arguments)
    left_out, data = len(data) - len(head), head
    options = Options(arguments.bytes, not arguments.no_special, arguments.special_as_text)
    tokenizations = []
    if mode != "greedy":
        tokenizations.append(Tokenization("exact", tokens_of(engine, data, options)))
    if mode != "exact":
        tokenizations.append(Tokenization("greedy", tokens_of(_native(engine).greedy(), data, options)))
    places = differences([tokenization.segmentation for tokenization in tokenizations])
    trace = Trace(_native(engine), data, mode, options) if arguments.trace else None
    if arguments.html is not None:
        from crayon_hf.playground.page import static_page

        name = plain_name(arguments.tokenizer)
        _write_page(arguments, static_page(name, engine, data, tokenizations, options, left_out + len(data)))
        return 0
    if arguments.json:
        report = _report(arguments, data, tokenizations, places)
        _write(json.dumps(report if trace is None else report | {"trace": trace.report()}))
        return 0
    paint, width = paint_for(sys.stdout, "never" if arguments.no_color else arguments.color), terminal_width()
    View(_write, paint, width, arguments.spelling).show(
        data, tokenizations, places, is_text=not arguments.bytes, with_ids=arguments.ids, is_truncated=left_out > 0
    )
    if trace is not None:
        TraceView(_write, paint, width).show(trace)
    if left_out:
        _write(paint.faint(f"… and {left_out:,} more bytes of text: --all shows them"))
    return 0


def _head(tokenizer: Tokenizer, data: bytes, arguments: Arguments) -> bytes:
    """Return the beginning of an input, up to `_MOST` tokens."""
    if arguments.bytes:
        ids = tokenizer.encode_bytes(data[: 16 * _MOST])[:_MOST]
        return data if len(ids) < _MOST else data[: len(tokenizer.decode_bytes(ids, False))]
    if len(data) <= _MOST:
        return data
    tokenizer.encode_special_tokens = arguments.special_as_text
    return tokenizer.truncate_text(data.decode(), _MOST, add_special_tokens=not arguments.no_special).encode()


def _write_page(arguments: Arguments, page: bytes) -> None:
    from crayon_hf.util.files import write_atomic

    if arguments.html == "-":
        sys.stdout.buffer.write(page)
        return
    write_atomic(arguments.html, page)
    _write(f"wrote {arguments.html}")


def _write(line: str) -> None:
    sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")


def _native(engine: AnyEngine) -> _core.Engine:
    if isinstance(engine, _core.Engine):
        return engine
    raise UnsupportedError(f"greedy mode and traces need a native tokenizer, but this one is not: {engine.reason}")


# -- the report


def _report(
    arguments: Arguments, data: bytes, tokenizations: list[Tokenization], places: list[Difference]
) -> dict[str, Any]:
    report: dict[str, Any] = {"tokenizer": plain_name(arguments.tokenizer)}
    report |= {"bytes": data.hex()} if arguments.bytes else {"text": data.decode()}
    for tokenization in tokenizations:
        report[tokenization.name] = {
            "count": len(tokenization.tokens),
            "tokens": [_token_report(token) for token in tokenization.tokens],
        }
    if len(tokenizations) == 2:
        report["differences"] = [
            {
                "start": place.start,
                "end": place.end,
                tokenizations[0].name: place.tokens[0],
                tokenizations[1].name: place.tokens[1],
            }
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
