"""The texts of a command, from arguments, files or standard input."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from crayon_hf.cli.arguments import MODE, SPECIAL, TOKENIZER, Arguments, UsageError, argument, option, together
from crayon_hf.cli.output import say
from crayon_hf.cli.tokenizers import open_named
from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.damage import is_utf_16

_BATCH = 1024
_CONVERT = "convert it first (iconv -f UTF-16 -t UTF-8)"
_LIKE_A_FILE = re.compile(r"(?!\w+://)\S*[\w*?\]](/|\.[A-Za-z][A-Za-z0-9]{0,4})|\.{0,2}/\S+|\S*\*\S*")
"""An argument that is probably a misspelt file name, or a pattern that matched no file."""


_WHAT = 'a text; a file, if one has that name{}; "-" or no argument reads standard input'
_READ = together(
    option("-f", "--file", multiple=True, metavar="FILE...", help="read texts from files"),
    option("--text", "as_text", is_flag=True, help="take arguments as texts, also the names of files"),
)
INPUTS = together(argument("text", nargs=-1, help=_WHAT.format("")), _READ)
"""The arguments and options for texts."""

_HOW = together(
    option("--lines", is_flag=True, help="take each line of the input as one text"), SPECIAL, TOKENIZER, MODE
)
TEXTS = together(INPUTS, _HOW)
"""`INPUTS`, and the options for reading and encoding these texts."""

TREES = together(argument("text", nargs=-1, help=_WHAT.format(", a directory with all files below it")), _READ, _HOW)
"""`TEXTS`, also with whole directories."""


def opened(arguments: Arguments) -> Tokenizer:
    """Open the tokenizer that the arguments name."""
    tokenizer = open_named(arguments.tokenizer, arguments.mode)
    tokenizer.encode_special_tokens = arguments.special_as_text
    return tokenizer


def find_files(arguments: Arguments, trees: bool = False) -> None:
    """Move arguments that name files from ``text`` to ``file``; with `trees`, also arguments that name directories.

    A note on standard error tells how an ambiguous argument was read.

    Raises:
        UsageError: Texts and files are mixed; a text may be a misspelt name.
    """
    texts: tuple[str, ...] = arguments.text
    if texts and arguments.file:
        raise UsageError("a text and -f cannot be combined: give texts, or files")
    if arguments.as_text or not texts or texts == ("-",):
        return
    if "-" in texts:
        raise UsageError("standard input (-) cannot be combined with other inputs (--text takes - as a text)")
    others = [text for text in texts if not _is_input(text, trees)]
    if not others:
        arguments.file, arguments.text = texts, ()
        for text in texts:
            if "." not in text and "/" not in text and os.sep not in text:
                kind = "directory" if os.path.isdir(text) else "file"
                note(f"{text!r} is read as the {kind} of that name (--text takes it as text)")
        return
    if len(others) < len(texts):
        named = next(text for text in texts if text not in others)
        raise UsageError(
            f"texts and files cannot be combined: {named!r} is a file, and {others[0]!r} is not (--text takes both as "
            "texts)"
        )
    for text in texts:
        if os.path.isdir(text) and text.endswith(("/", os.sep)):
            raise UsageError(f"{text!r} is a directory: give its files (crayon-hf count also takes directories)")
        if os.path.isdir(text):
            note(f"{text!r} is taken as text: this command reads no directories")
        elif len(text) < 256 and _LIKE_A_FILE.fullmatch(text):
            note(f"no file {text!r} here: it is taken as text (--text omits this note)")


def one_input(arguments: Arguments, name: str) -> bytes:
    """Return the one text of the arguments, as bytes. Raises UsageError for several. `name` is the command's name."""
    if len(arguments.text) > 1 and "-" not in arguments.text and not any(map(os.path.exists, arguments.text)):
        text = " ".join(arguments.text)
        quoted = shlex.quote(text) if re.search(r'["$`!\\\\]', text) else f'"{text}"'
        raise UsageError(f"{name} takes one text: quote it: crayon-hf {name} {quoted}")
    find_files(arguments)
    texts = _inputs(arguments)
    if len(texts) > 1:
        raise UsageError(f"{name} takes one text or one file, not {len(texts)}")
    return texts[0]


def texts_of(arguments: Arguments) -> Iterator[bytes]:
    """Iterate over the texts of the arguments, as bytes. Call `find_files` first.

    Errors of files are raised by this call, before the iteration.
    """
    inputs = _inputs(arguments)
    return iter([line for data in inputs for line in _lines(data)] if arguments.lines else inputs)


def is_standard_input(arguments: Arguments) -> bool:
    """Whether the input is standard input: no arguments, or only ``-``."""
    return not arguments.file and (not arguments.text or (arguments.text == ("-",) and not arguments.as_text))


def standard_input(what: str = "text") -> BinaryIO:
    """Standard input. If it is a terminal, a note tells that the command waits for input."""
    if not sys.stdin.isatty():
        return sys.stdin.buffer
    end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"
    note(f"reading {what} from the terminal; {end} on an empty line ends it")
    return io.BytesIO(sys.stdin.buffer.read())  # reading a terminal beyond its end would wait again


def utf8_advice(path: str, otherwise: str) -> str:
    """Advice for a file that is not UTF-8: to convert it if it is UTF-16, else `otherwise`."""
    with open(path, "rb") as file:
        return f"it is UTF-16: {_CONVERT}" if is_utf_16(file.read(1 << 12)) else otherwise


def batches(texts: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Group texts into batches."""
    while batch := list(islice(texts, _BATCH)):
        yield batch


def utf8(data: bytes, advice: str = "--bytes takes any bytes") -> str:
    """Decode an input. Raises InvalidUtf8Error with `advice`, or for UTF-16 with the advice to convert it."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if is_utf_16(data[:4096]):
            raise InvalidUtf8Error(f"the input is UTF-16, not UTF-8: {_CONVERT}") from error
        raise InvalidUtf8Error(
            f"the input is not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start} ({advice})"
        ) from error


def _inputs(arguments: Arguments) -> list[bytes]:
    if arguments.file:
        return [Path(name).read_bytes() for name in arguments.file]
    if is_standard_input(arguments):
        return [standard_input().read()]
    return [os.fsencode(text) for text in arguments.text]


def _is_input(text: str, trees: bool) -> bool:
    return os.path.exists(text) and (trees or not os.path.isdir(text))


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def note(message: str) -> None:
    """Print a note on standard error about how the input was read."""
    say(f"note: {message}")
