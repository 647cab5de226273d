"""The commands ``encode`` and ``decode``, and how commands take texts."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from crayon_hf.cli.arguments import UsageError, add_command, add_mode, add_special, add_tokenizer
from crayon_hf.cli.id_lists import parse_ids
from crayon_hf.cli.output import as_json, print_line
from crayon_hf.cli.tokenizers import open_named
from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.tokenizer import Tokenizer

_BATCH = 1024


def add_encode(subparsers: Any) -> None:
    """What ``encode`` takes."""
    command = add_command(
        subparsers,
        "encode",
        encode,
        "encode text to ids",
        "Prints the ids of each text on a line of its own, separated by spaces. "
        "A text from a file or from standard input includes its last newline.",
        (
            ('crayon-hf encode "Hello, world!"', "the ids"),
            ('crayon-hf encode "Hello, world!" --json', "ids, tokens and offsets"),
            ("crayon-hf encode -f book.txt --lines", "a file, line by line"),
            ('crayon-hf encode "Hello" -t my-model/', "with another tokenizer"),
        ),
    )
    add_texts(command)
    command.add_argument("--json", action="store_true", help="print an object with ids, tokens and offsets per text")


def add_decode(subparsers: Any) -> None:
    """What ``decode`` takes."""
    command = add_command(
        subparsers,
        "decode",
        decode,
        "decode ids to text",
        "Prints the text of some ids. They may be separated by spaces or commas, or be JSON, as encode prints them.\n"
        "From standard input, each line is a text of its own.",
        (
            ("crayon-hf decode 23071 11 1125 0", "Hello, world!"),
            ("crayon-hf decode '[23071, 11]'", "a list as JSON"),
            ("crayon-hf encode -f poem.txt --lines | crayon-hf decode", "there and back"),
        ),
    )
    command.add_argument("ids", nargs="*", help='the ids; "-", or none at all, reads standard input')
    command.add_argument("--special", action="store_true", help="keep special tokens in the text")
    command.add_argument("--bytes", action="store_true", help="write the exact bytes, with no newline after them")
    add_tokenizer(command)


def add_texts(command: argparse.ArgumentParser, many: bool = False, takes_bytes: bool = True) -> None:
    """Where the texts come from, and how they are read; `many` files."""
    command.add_argument("text", nargs="*", help='the text; "-", or none at all, reads standard input')
    if many:
        command.add_argument("-f", "--file", nargs="+", action="extend", metavar="FILE", help="count the text of files")
    else:
        command.add_argument("-f", "--file", metavar="FILE", help="read the text from a file")
    command.add_argument("--lines", action="store_true", help="take each line of the input as one text")
    add_special(command, takes_bytes)
    add_tokenizer(command)
    add_mode(command)


def encode(arguments: argparse.Namespace) -> int:
    """Text to ids."""
    texts = texts_of(arguments)
    tokenizer = opened(arguments)
    if arguments.bytes:
        for data in texts:
            ids = tokenizer.encode_bytes(data)
            tokens = [tokenizer.id_to_token(id) for id in ids]
            print_line(as_json({"ids": ids, "tokens": tokens}) if arguments.json else _spaced(ids))
        return 0
    for batch in batches(texts):
        encode_batch = tokenizer.encode_batch if arguments.json else tokenizer.encode_batch_fast
        for encoding in encode_batch([utf8(data) for data in batch], add_special_tokens=not arguments.no_special):
            if arguments.json:
                print_line(as_json({"ids": encoding.ids, "tokens": encoding.tokens, "offsets": encoding.offsets}))
            else:
                print_line(_spaced(encoding.ids))
    return 0


def opened(arguments: argparse.Namespace) -> Tokenizer:
    """The tokenizer that the arguments name."""
    tokenizer = open_named(arguments.tokenizer, arguments.mode)
    tokenizer.encode_special_tokens = arguments.special_as_text
    return tokenizer


def decode(arguments: argparse.Namespace) -> int:
    """Ids to text."""
    if arguments.ids in ([], ["-"]):
        lists = parse_ids(utf8(sys.stdin.buffer.read()))
    else:
        lists = parse_ids(" ".join(arguments.ids))
    tokenizer = open_named(arguments.tokenizer)
    for ids in lists:
        if arguments.bytes:
            sys.stdout.buffer.write(tokenizer.decode_bytes(ids, not arguments.special))
        else:
            print_line(tokenizer.decode(ids, not arguments.special, "error"))
    return 0


def read_input(text: str | None, file: str | None) -> bytes:
    """One text as bytes: of the command line, of a file, or of standard input where there is neither."""
    check_one_input([] if text is None else [text], file)
    if file is not None:
        return Path(file).read_bytes()
    if text in (None, "-"):
        return sys.stdin.buffer.read()
    note_files([text])
    return os.fsencode(text)


def texts_of(arguments: argparse.Namespace) -> Iterator[bytes]:
    """The input as bytes, one item for each text. What can fail about files fails here, not while iterating."""
    check_one_input(arguments.text, arguments.file)
    if arguments.file is not None:
        names = [arguments.file] if isinstance(arguments.file, str) else arguments.file
        inputs = [Path(name).read_bytes() for name in names]
    elif arguments.text in ([], ["-"]):
        inputs = [sys.stdin.buffer.read()]
    else:
        note_files(arguments.text)
        inputs = [os.fsencode(text) for text in arguments.text]
    return iter([line for data in inputs for line in _lines(data)] if arguments.lines else inputs)


def check_one_input(texts: Sequence[str], file: object) -> None:
    """Refuse texts where a file has them."""
    if texts and file is not None:
        raise UsageError("a text and -f cannot be combined: give the text, or the file that has it")


def note_files(texts: Sequence[str]) -> None:
    """A text that is the name of a file was likely meant as that."""
    for text in texts:
        if "." in text and len(text) < 256 and os.path.isfile(text):
            note = f"crayon-hf: note: {text!r} is taken as the text itself; -f {shlex.quote(text)} reads the file"
            print(note, file=sys.stderr)


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def batches(texts: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Texts to work on together."""
    while batch := list(islice(texts, _BATCH)):
        yield batch


def utf8(data: bytes, advice: str = "--bytes takes any bytes") -> str:
    """The text of an input."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidUtf8Error(
            f"the input is not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start} ({advice})"
        ) from error


def _spaced(ids: list[int]) -> str:
    return " ".join(map(str, ids))
