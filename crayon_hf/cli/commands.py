"""The commands ``encode``, ``count``, ``decode`` and ``info``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from crayon_hf.cli.arguments import add_command, add_mode, add_special, add_tokenizer
from crayon_hf.cli.id_lists import parse_ids
from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.loading.resolve import open_tokenizer
from crayon_hf.tokenizer import Tokenizer

_BATCH = 1024


def add_encode(subparsers: Any) -> None:
    """What ``encode`` takes."""
    command = add_command(
        subparsers,
        "encode",
        encode,
        "text to ids",
        "Prints the ids of each text on a line of its own, separated by spaces.\n"
        "A text from a file or from standard input is taken as it is, its last newline included.",
    )
    _add_texts(command)
    command.add_argument("--json", action="store_true", help="print an object with ids, tokens and offsets per text")


def add_count(subparsers: Any) -> None:
    """What ``count`` takes."""
    command = add_command(
        subparsers, "count", count, "how many tokens a text has", "Prints the number of tokens of each text."
    )
    _add_texts(command)


def add_decode(subparsers: Any) -> None:
    """What ``decode`` takes."""
    command = add_command(
        subparsers,
        "decode",
        decode,
        "ids to text",
        "Prints the text of some ids. They may be separated by spaces or commas, or be JSON, as encode prints them.\n"
        "From standard input, each line is a text of its own.",
    )
    command.add_argument("ids", nargs="*", help='the ids; "-", or none at all, reads standard input')
    command.add_argument("--special", action="store_true", help="keep special tokens in the text")
    command.add_argument("--bytes", action="store_true", help="write the exact bytes, with no newline after them")
    add_tokenizer(command)


def add_info(subparsers: Any) -> None:
    """What ``info`` takes."""
    command = add_command(
        subparsers,
        "info",
        info,
        "what a tokenizer is",
        "Prints the facts of a tokenizer: its engine, its vocabulary and the sections of its cartridge.",
    )
    add_tokenizer(command)
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _add_texts(command: argparse.ArgumentParser) -> None:
    command.add_argument("text", nargs="*", help='the text; "-", or none at all, reads standard input')
    command.add_argument("-f", "--file", metavar="FILE", help="read the text from a file")
    command.add_argument("--lines", action="store_true", help="each line of the input is a text of its own")
    add_special(command)
    add_tokenizer(command)
    add_mode(command)


def encode(arguments: argparse.Namespace) -> int:
    """Text to ids."""
    texts = _texts(arguments)
    tokenizer = open_tokenizer(arguments.tokenizer, arguments.mode)
    tokenizer.encode_special_tokens = arguments.special_as_text
    if arguments.bytes:
        for data in texts:
            ids = tokenizer.encode_bytes(data)
            tokens = [tokenizer.id_to_token(id) for id in ids]
            print_line(_json({"ids": ids, "tokens": tokens}) if arguments.json else _spaced(ids))
        return 0
    for batch in _batches(texts):
        encode_batch = tokenizer.encode_batch if arguments.json else tokenizer.encode_batch_fast
        for encoding in encode_batch([utf8(data) for data in batch], add_special_tokens=not arguments.no_special):
            if arguments.json:
                print_line(_json({"ids": encoding.ids, "tokens": encoding.tokens, "offsets": encoding.offsets}))
            else:
                print_line(_spaced(encoding.ids))
    return 0


def count(arguments: argparse.Namespace) -> int:
    """How many tokens each text has."""
    texts = _texts(arguments)
    tokenizer = open_tokenizer(arguments.tokenizer, arguments.mode)
    tokenizer.encode_special_tokens = arguments.special_as_text
    for batch in _batches(texts):
        if arguments.bytes:
            counts = [len(tokenizer.encode_bytes(data)) for data in batch]
        else:
            counts = tokenizer.count_tokens([utf8(data) for data in batch], not arguments.no_special)
        for number in counts:
            print_line(str(number))
    return 0


def decode(arguments: argparse.Namespace) -> int:
    """Ids to text."""
    if arguments.ids in ([], ["-"]):
        lists = parse_ids(utf8(sys.stdin.buffer.read()))
    else:
        lists = parse_ids(" ".join(arguments.ids))
    tokenizer = open_tokenizer(arguments.tokenizer)
    for ids in lists:
        if arguments.bytes:
            sys.stdout.buffer.write(tokenizer.decode_bytes(ids, not arguments.special))
        else:
            print_line(tokenizer.decode(ids, not arguments.special, "error"))
    return 0


def info(arguments: argparse.Namespace) -> int:
    """The facts of a tokenizer."""
    from crayon_hf import _core
    from crayon_hf.hub.store import record_of

    tokenizer = open_tokenizer(arguments.tokenizer)
    facts: dict[str, Any] = {
        "tokenizer": arguments.tokenizer,
        **tokenizer.engine_report(),
        "cpu_levels": _core.cpu_levels(),
        "vocab_size": tokenizer.get_vocab_size(),
        "added_tokens": len(tokenizer.get_added_tokens_decoder()),
        **tokenizer.engine_info(),
        "source_digest": tokenizer.source_digest,
    }
    pulled = None if facts["cartridge"] is None else record_of(facts["cartridge"])
    if pulled is not None:
        facts["pulled"] = {key: getattr(pulled, key) for key in ("repo", "revision", "commit")}
    sections = [] if facts["cartridge"] is None else _core.cartridge_sections(facts["cartridge"])
    certificate, says = _certificate(tokenizer)
    if arguments.json:
        print_line(_json({**facts, "certificate": certificate, "sections": sections}))
        return 0
    if facts["cartridge"] is not None:
        facts["certificate"] = says
    width = max(len(key) for key in facts)
    for key, value in facts.items():
        if value is not None:
            print_line(f"{key:<{width}}  {value if isinstance(value, (str, int, float)) else _json(value)}")
    if sections:
        print_line(f"\n{'section':<24} {'offset':>12} {'bytes':>12}")
        for section in sections:
            print_line(f"{section['name']:<24} {section['offset']:>12} {section['size']:>12}")
    return 0


def _certificate(tokenizer: Tokenizer) -> tuple[Any, str]:
    """The parity certificate of the cartridge that is open, and what to say of it."""
    from crayon_hf import _core
    from crayon_hf.certificate import CertificateError, read

    engine = tokenizer._current_engine()
    if not isinstance(engine, _core.Engine) or engine.certificate is None:
        return None, "none (crayon-hf parity TARGET --certify writes one)"
    try:
        found = read(engine)
        return json.loads(engine.certificate), found.summary() if found else ""
    except CertificateError as error:
        return None, f"not to be trusted: {error}"


def _texts(arguments: argparse.Namespace) -> Iterator[bytes]:
    """The input as bytes, one item for each text. What can fail about files fails here, not while iterating."""
    if arguments.file is not None:
        inputs = [Path(arguments.file).read_bytes()]
    elif arguments.text in ([], ["-"]):
        inputs = [sys.stdin.buffer.read()]
    else:
        inputs = [os.fsencode(text) for text in arguments.text]
    return iter([line for data in inputs for line in _lines(data)] if arguments.lines else inputs)


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _batches(texts: Iterator[bytes]) -> Iterator[list[bytes]]:
    while batch := list(islice(texts, _BATCH)):
        yield batch


def utf8(data: bytes) -> str:
    """The text of an input."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidUtf8Error(
            f"the input is not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start} (--bytes takes any bytes)"
        ) from error


def print_line(line: str) -> None:
    """A line of the output, which is UTF-8 whatever the locale; names of files are the bytes that they are."""
    sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape") + b"\n")


def _spaced(ids: list[int]) -> str:
    return " ".join(map(str, ids))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
