"""``crayon-hf split``: split texts and files into chunks of limited tokens, as lines of JSON."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.cli.arguments import MODE, NUMBER, SPECIAL_AS_TEXT, TOKENIZER, Arguments, UsageError, command, option
from crayon_hf.cli.inputs import INPUTS, find_files, is_standard_input, opened, standard_input, utf8, utf8_advice
from crayon_hf.cli.output import as_json, print_line
from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.util.progress import FilesBar

if TYPE_CHECKING:
    from crayon_hf.budgets.boundaries import Boundaries
    from crayon_hf.budgets.chunks import Chunk, Splitter


@command(
    "split",
    alternatives=("boundaries", "pattern"),
    examples=(
        ("crayon-hf split book.txt --max-tokens 512 > chunks.jsonl", "a file of any size"),
        ("crayon-hf split book.txt -n 512 --overlap 64", "repeat the end of the chunk before"),
        ("cat poem.txt | crayon-hf split -n 8 --boundaries word", "standard input, cut between words"),
        ("crayon-hf split poem.txt -n 8 --pattern '\\n' --no-ids", "cut after matches of a pattern"),
    ),
)
@INPUTS
@option("-n", "--max-tokens", type=NUMBER, required=True, help="the most tokens of a chunk")
@option("--overlap", type=NUMBER, default=0, help="repeat up to N tokens of the chunk before")
@option(
    "--boundaries",
    default="paragraph",
    metavar="KIND",
    help="paragraph (default), sentence, word, markdown, json, code:LANGUAGE as in code:python, or none",
)
@option("--pattern", metavar="REGEX", help="cut after each match of a Python regular expression instead")
@option("--strip", is_flag=True, help="leave out white space around chunks")
@option("--no-ids", is_flag=True, help="print the number of tokens instead of the ids")
@option("--special", is_flag=True, help="add special tokens around each chunk, and count them")
@SPECIAL_AS_TEXT
@TOKENIZER
@MODE
def split(arguments: Arguments) -> int:
    """Prints an object on a line of its own for each chunk.

    It has text, start and end in characters, byte_start and byte_end in bytes of UTF-8, and ids; for a file also its
    name. No chunk has more tokens than --max-tokens. A file of any size takes little memory.

    Chunks end with a paragraph. A paragraph that is too long is cut at sentences, a sentence at words, a word at
    tokens. Without --overlap and --strip the chunks together are the text.
    """
    from crayon_hf.budgets.chunks import Splitter
    from crayon_hf.budgets.files import chunks_of

    find_files(arguments)
    boundaries = _boundaries(arguments)
    sizes = [os.stat(name).st_size for name in arguments.file]  # fails for a missing file before any output
    tokenizer = opened(arguments)
    try:
        splitter = Splitter(
            tokenizer, arguments.max_tokens, arguments.overlap, boundaries, arguments.special, arguments.strip
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    if arguments.file:
        _files(splitter, arguments.file, sizes, arguments.no_ids)
    elif is_standard_input(arguments):
        _print(chunks_of(splitter, standard_input()), arguments.no_ids)
    else:
        for text in arguments.text:
            _print(splitter.split(utf8(os.fsencode(text))), arguments.no_ids)
    return 0


def _boundaries(arguments: Arguments) -> Boundaries:
    if arguments.pattern is None:
        return None if arguments.boundaries == "none" else str(arguments.boundaries)
    try:
        return re.compile(arguments.pattern)
    except re.error as error:
        raise UsageError(f"--pattern {arguments.pattern!r} is not a regular expression: {error}") from error


def _files(splitter: Splitter, names: Sequence[str], sizes: list[int], no_ids: bool) -> None:
    from crayon_hf.budgets.files import chunks_of

    line, is_seen = FilesBar(sizes), sys.stdout.isatty()

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
            advice = utf8_advice(name, "")
            raise InvalidUtf8Error(f"{name}: {error}{advice and f' ({advice})'}") from error


def _print(chunks: Iterable[Chunk], no_ids: bool, name: str | None = None) -> None:
    for chunk in chunks:
        said: dict[str, Any] = {} if name is None else {"file": name}
        said |= chunk._asdict()
        if no_ids:
            said["tokens"] = len(said.pop("ids"))
        print_line(as_json(said))
