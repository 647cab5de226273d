"""The commands. Each takes the parsed arguments and returns the exit code."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from crayon_hf.cli.id_lists import parse_ids
from crayon_hf.errors import CrayonError, InvalidUtf8Error, ProfileNotFoundError
from crayon_hf.tokenizer import Tokenizer

_BATCH = 1024
_SUFFIXES = (".json", ".dat", ".tiktoken")


def encode(arguments: argparse.Namespace) -> int:
    """Text to ids."""
    texts = _texts(arguments)
    tokenizer = open_tokenizer(arguments.tokenizer)
    tokenizer.encode_special_tokens = arguments.special_as_text
    if arguments.bytes:
        for data in texts:
            ids = tokenizer.encode_bytes(data)
            tokens = [tokenizer.id_to_token(id) for id in ids]
            _print(_json({"ids": ids, "tokens": tokens}) if arguments.json else _spaced(ids))
        return 0
    for batch in _batches(texts):
        encode_batch = tokenizer.encode_batch if arguments.json else tokenizer.encode_batch_fast
        for encoding in encode_batch([_utf8(data) for data in batch], add_special_tokens=not arguments.no_special):
            if arguments.json:
                _print(_json({"ids": encoding.ids, "tokens": encoding.tokens, "offsets": encoding.offsets}))
            else:
                _print(_spaced(encoding.ids))
    return 0


def count(arguments: argparse.Namespace) -> int:
    """How many tokens each text has."""
    texts = _texts(arguments)
    tokenizer = open_tokenizer(arguments.tokenizer)
    tokenizer.encode_special_tokens = arguments.special_as_text
    for batch in _batches(texts):
        if arguments.bytes:
            counts = [len(tokenizer.encode_bytes(data)) for data in batch]
        else:
            counts = tokenizer.count_tokens([_utf8(data) for data in batch], not arguments.no_special)
        for number in counts:
            _print(str(number))
    return 0


def decode(arguments: argparse.Namespace) -> int:
    """Ids to text."""
    if arguments.ids in ([], ["-"]):
        lists = parse_ids(_utf8(sys.stdin.buffer.read()))
    else:
        lists = parse_ids(" ".join(arguments.ids))
    tokenizer = open_tokenizer(arguments.tokenizer)
    for ids in lists:
        if arguments.bytes:
            sys.stdout.buffer.write(tokenizer.decode_bytes(ids, not arguments.special))
        else:
            _print(tokenizer.decode(ids, not arguments.special))
    return 0


def info(arguments: argparse.Namespace) -> int:
    """The facts of a tokenizer."""
    from crayon_hf import _core

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
    sections = [] if facts["cartridge"] is None else _core.cartridge_sections(facts["cartridge"])
    if arguments.json:
        _print(_json({**facts, "sections": sections}))
        return 0
    width = max(len(key) for key in facts)
    for key, value in facts.items():
        if value is not None:
            _print(f"{key:<{width}}  {value if isinstance(value, (str, int, float)) else _json(value)}")
    if sections:
        _print(f"\n{'section':<24} {'offset':>12} {'bytes':>12}")
        for section in sections:
            _print(f"{section['name']:<24} {section['offset']:>12} {section['size']:>12}")
    return 0


def bench(arguments: argparse.Namespace) -> int:
    """Encoding speed, beside the references."""
    from crayon_hf.parity import bench as parity

    with TemporaryDirectory(prefix="crayon-bench-") as directory:
        vocabulary = parity.find(_bench_source(arguments.tokenizer, directory))
        texts = arguments.text or (list(parity.CORPUS) if os.environ.get("CRAYON_SHARED") else [_some_text(directory)])
        limit = None if arguments.megabytes is None else int(arguments.megabytes * 1e6)
        try:
            report = parity.run_bench(
                vocabulary, texts=texts, threads=arguments.threads, rounds=arguments.rounds, limit=limit
            )
        except parity.BenchError as error:
            raise CrayonError(str(error)) from error
    machine = parity.machine_lines(report.texts)
    if arguments.json:
        _print(_json({"machine": machine, "report": report.to_json()}))
    else:
        _print("\n".join([*machine, "", report.to_markdown().rstrip()]))
    if not report.same_ids:
        raise CrayonError(f"the ids are not those of {report.reference}; nothing was timed")
    return 0


def _bench_source(name: str, directory: str) -> str:
    """The file that the references can open, too: a tokenizer.json for a profile or a cartridge, else as given."""
    if name.endswith(".dat"):
        tokenizer = Tokenizer.from_file(name)
    elif name.endswith(_SUFFIXES) or "/" in name or os.sep in name:
        return name
    else:
        try:
            tokenizer = Tokenizer.from_profile(name)
        except ProfileNotFoundError:
            return name
    path = os.path.join(directory, f"{Path(name).stem}.json")
    tokenizer.save(path)
    return path


def _some_text(directory: str) -> str:
    """A few megabytes that are on every machine: the sources of Python's library."""
    path = os.path.join(directory, "python-library.txt")
    with open(path, "wb") as out:
        for source in sorted(Path(os.__file__).parent.glob("*.py")):
            out.write(source.read_bytes().decode("utf-8", "replace").encode())
    return path


def open_tokenizer(name: str) -> Tokenizer:
    """A profile by its name, a file or a directory by its path, or a published tiktoken encoding by its name."""
    if name.endswith(_SUFFIXES) or "/" in name or os.sep in name:
        return Tokenizer.from_file(name)
    try:
        return Tokenizer.from_profile(name)
    except ProfileNotFoundError:
        if os.path.exists(name):
            return Tokenizer.from_file(name)
        from crayon_hf.conversion.tiktoken import KNOWN_ENCODINGS

        if name in KNOWN_ENCODINGS:
            return Tokenizer.from_tiktoken(name)
        raise


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


def _utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidUtf8Error(
            f"the input is not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start} (--bytes takes any bytes)"
        ) from error


def _print(line: str) -> None:
    sys.stdout.buffer.write(line.encode() + b"\n")


def _spaced(ids: list[int]) -> str:
    return " ".join(map(str, ids))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
