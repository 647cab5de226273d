"""``crayon-hf split``: texts and files in chunks of so many tokens, as lines of JSON."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from crayon_hf.cli.arguments import UsageError, add_command, add_mode, add_tokenizer, number
from crayon_hf.cli.commands import check_one_input, note_files, opened, utf8
from crayon_hf.cli.output import as_json, print_line
from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.util.progress import FilesLine

if TYPE_CHECKING:
    from crayon_hf.budgets.boundaries import Boundaries
    from crayon_hf.budgets.chunks import Chunk, Splitter

_DESCRIPTION = """\
Prints an object on a line of its own for each chunk: text, start and end in characters, byte_start and byte_end in
bytes of UTF-8, and ids; for a file also its name. No chunk has more tokens than --max-tokens. A file of any size takes
little memory.

Chunks end with a paragraph. A paragraph that is too long is cut at sentences, a sentence at words, a word at tokens.
Without --overlap and --strip the chunks together are the text.
"""


def add_split(subparsers: Any) -> None:
    """What ``split`` takes."""
    command = add_command(
        subparsers,
        "split",
        split,
        "split texts and files into chunks of tokens",
        _DESCRIPTION,
        (
            ("crayon-hf split -f book.txt --max-tokens 512 > chunks.jsonl", "a file of any size"),
            ("crayon-hf split -f book.txt -n 512 --overlap 64", "with a part of the one before"),
            ("cat poem.txt | crayon-hf split -n 8 --boundaries word", "what comes in, cut between words"),
            ("crayon-hf split -f poem.txt -n 8 --pattern '\\n' --no-ids", "cut after matches of a pattern"),
        ),
    )
    command.add_argument("text", nargs="*", help='the text; "-", or none at all, reads standard input')
    command.add_argument("-f", "--file", nargs="+", action="extend", metavar="FILE", help="split the text of files")
    command.add_argument(
        "-n", "--max-tokens", type=number, required=True, metavar="N", help="the most tokens of a chunk"
    )
    command.add_argument(
        "--overlap", type=number, default=0, metavar="N", help="repeat up to so many tokens of the chunk before"
    )
    where = command.add_mutually_exclusive_group()
    where.add_argument(
        "--boundaries",
        default="paragraph",
        metavar="KIND",
        help="paragraph (default), sentence, word, markdown, json, code:LANGUAGE as in code:python, or none",
    )
    where.add_argument("--pattern", metavar="REGEX", help="cut after each match of a Python regular expression")
    command.add_argument("--strip", action="store_true", help="leave out white space around chunks")
    command.add_argument("--no-ids", action="store_true", help="print the number of tokens instead of the ids")
    command.add_argument(
        "--special", action="store_true", help="count the special tokens around a chunk, and print them"
    )
    command.add_argument(
        "--special-as-text", action="store_true", help="read special tokens inside the text as ordinary text"
    )
    add_tokenizer(command)
    add_mode(command)


def split(arguments: argparse.Namespace) -> int:
    """Print the chunks of each text, or of each file."""
    from crayon_hf.budgets.chunks import Splitter
    from crayon_hf.budgets.files import chunks_of

    check_one_input(arguments.text, arguments.file)
    boundaries = _boundaries(arguments)
    sizes = [os.stat(name).st_size for name in arguments.file or ()]  # what is missing is found before anything is cut
    tokenizer = opened(arguments)
    try:
        splitter = Splitter(
            tokenizer, arguments.max_tokens, arguments.overlap, boundaries, arguments.special, arguments.strip
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    if arguments.file is not None:
        _files(splitter, arguments.file, sizes, arguments.no_ids)
    elif arguments.text in ([], ["-"]):
        _print(chunks_of(splitter, sys.stdin.buffer), arguments.no_ids)
    else:
        note_files(arguments.text)
        for text in arguments.text:
            _print(splitter.split(utf8(os.fsencode(text))), arguments.no_ids)
    return 0


def _boundaries(arguments: argparse.Namespace) -> Boundaries:
    if arguments.pattern is None:
        return None if arguments.boundaries == "none" else str(arguments.boundaries)
    try:
        return re.compile(arguments.pattern)
    except re.error as error:
        raise UsageError(f"--pattern {arguments.pattern!r} is not a regular expression: {error}") from error


def _files(splitter: Splitter, names: list[str], sizes: list[int], no_ids: bool) -> None:
    from crayon_hf.budgets.files import chunks_of

    line, is_seen = FilesLine(sizes), sys.stdout.isatty()

    def told(name: str, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            yield chunk
            if not is_seen:
                line.told(name, chunk.byte_end)

    for name, size in zip(names, sizes, strict=True):
        try:
            with line.file(size):
                _print(told(name, chunks_of(splitter, name)), no_ids, name)
        except InvalidUtf8Error as error:
            raise InvalidUtf8Error(f"{name}: {error}") from error


def _print(chunks: Iterable[Chunk], no_ids: bool, name: str | None = None) -> None:
    for chunk in chunks:
        said: dict[str, Any] = {} if name is None else {"file": name}
        said |= chunk._asdict()
        if no_ids:
            said["tokens"] = len(said.pop("ids"))
        print_line(as_json(said))
