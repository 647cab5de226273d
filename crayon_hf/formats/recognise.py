"""Recognise a source by its content, not its name, and read no more of it than needed."""

from __future__ import annotations

import binascii
import os
import re
from collections.abc import Iterator
from enum import Enum
from typing import IO

from crayon_hf.errors import VocabularyError
from crayon_hf.formats.name_hints import no_file
from crayon_hf.util.damage import damage_of


class Kind(Enum):
    """The kinds of sources; the value is the word in messages."""

    DIRECTORY = "a directory"
    TOKENIZER_JSON = "a tokenizer.json"
    TEKKEN = "a tekken.json"
    VOCAB_JSON = "a vocab.json"  # merges.txt is beside it
    MERGES = "a merges.txt"  # vocab.json is beside it
    WORDPIECE = "a vocab.txt of WordPiece"
    TIKTOKEN = "a tiktoken rank file"
    SENTENCEPIECE = "a SentencePiece model"
    GGUF = "a GGUF file"
    CRAYON_V2 = "a version 2 cartridge"
    CARTRIDGE = "a cartridge"


LOOKED_FOR = (
    "a tokenizer.json, a tekken.json, a vocab.json with a merges.txt, a vocab.txt of WordPiece, a tiktoken rank file, "
    "a SentencePiece model, a GGUF file, a cartridge"
)

_FIRST, _TEXT, _MOST = 1 << 12, 1 << 16, 1 << 26
_NUMBERS = 16  # a JSON object whose first 16 members are numbers is a vocab.json
_MODELS = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
_SINGLE = (".gguf", ".tiktoken", ".dat")
_TOKENIZER_KEYS = {b'"truncation"', b'"added_tokens"', b'"pre_tokenizer"', b'"post_processor"', b'"model"'}

# Also matches a string that is cut off where the read data ends: its content must not be read as tokens.
_JSON_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\]]|[^\s"{}\[\],]+', re.DOTALL)
_STRINGS = re.compile(rb'\s*\[\s*"[^"]*"\s*[,\]]')
_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+")
_WORDPIECE_LINE = re.compile(rb"(?:\A|[\r\n])(?:\[UNK\](?:[\r\n]|\Z)|##[^\r\n])")
_MERGE_LINE = re.compile(rb"[^ ]+ [^ ]+")


def recognise(path: str | os.PathLike[str]) -> Kind:
    """Return the kind of a file or a directory. Raises VocabularyError, which lists the known formats, for others."""
    name = os.fspath(path)
    if os.path.isdir(name):
        return Kind.DIRECTORY
    if not os.path.lexists(name):
        raise no_file(name)
    if os.path.exists(name) and not os.path.isfile(name):
        raise VocabularyError(f"{name} is not a file")
    with open(name, "rb") as file:
        head = file.read(_FIRST)
        kind = _recognise(head, file, name)
    if kind is not None:
        return kind
    if (damage := damage_of(head)) is not None:
        raise VocabularyError(f"{name} {damage}")
    raise VocabularyError(f"{name} is not a vocabulary of a known format; supported: {LOOKED_FOR}")


def look_into(directory: str | os.PathLike[str]) -> tuple[Kind, str]:
    """Return the kind of the vocabulary in a directory, and its file."""
    folder = os.fspath(directory)
    names = sorted(os.listdir(folder))
    for name in candidates(folder, names):
        path = os.path.join(folder, name)
        return recognise(path), path
    looked_for = f"tokenizer.json, tekken.json, {_MODELS[0]}, vocab.json with merges.txt, vocab.txt, "
    raise VocabularyError(f"{folder} has no vocabulary: expected {looked_for}*.model, *.gguf, *.tiktoken or *.dat")


def vocab_and_merges(path: str | os.PathLike[str], kind: Kind) -> tuple[str, str]:
    """The paths of the vocab.json and the merges.txt of a vocabulary; `path` is the file of this `kind`.

    The other file has the same name with the other ending (``gpt2-vocab.json`` and ``gpt2-merges.txt``), or the ending
    alone as its name. Raises VocabularyError if it is missing.
    """
    name = os.fspath(path)
    other = _other_file(name, kind)
    if other is None:
        missing = "vocab.json" if kind is Kind.MERGES else "merges.txt"
        raise VocabularyError(f"{name} needs a second file: {missing} is not beside it")
    return (other, name) if kind is Kind.MERGES else (name, other)


def _other_file(path: str, kind: Kind) -> str | None:
    folder, name = os.path.split(path)
    mine, other = ("merges.txt", "vocab.json") if kind is Kind.MERGES else ("vocab.json", "merges.txt")
    beside = (os.path.join(folder, end) for end in (name.removesuffix(mine) + other, other))
    return next(filter(os.path.isfile, beside), None)


# -- directories


def candidates(folder: str, names: list[str]) -> Iterator[str]:
    present = set(names)
    yield from (name for name in ("tokenizer.json", "tekken.json") if name in present)
    yield from (name for name in _MODELS if name in present)
    yield from _the_only(folder, names, ".model")
    if {"vocab.json", "merges.txt"} <= present:
        yield "vocab.json"
    if "vocab.txt" in present:
        yield "vocab.txt"
    for suffix in _SINGLE:
        yield from _the_only(folder, names, suffix)
    if "vocab.json" in present:
        yield "vocab.json"  # so that an error says that merges.txt is missing


def _the_only(folder: str, names: list[str], suffix: str) -> list[str]:
    found = [name for name in names if name.lower().endswith(suffix) and not name.startswith(".")]
    if len(found) > 1:
        raise VocabularyError(
            f"{folder} has {len(found)} files *{suffix}: give the path of one ({', '.join(found[:3])})"
        )
    return found


# -- files


def _recognise(head: bytes, file: IO[bytes], path: str) -> Kind | None:
    if head.startswith(b"CRAY"):
        return Kind.CRAYON_V2 if head[4:8] == (2).to_bytes(4, "little") else Kind.CARTRIDGE  # of any other version
    if head.startswith(b"GGUF"):
        return Kind.GGUF
    if _is_sentencepiece(head):
        return Kind.SENTENCEPIECE
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start == b"{":
        return _json_object(head, file, path)
    if _STRINGS.match(head):
        raise VocabularyError(f"{path} is the list of strings of a CRAYON cartridge: give the .dat beside it")
    return _lines(head, file, path)


def _is_sentencepiece(head: bytes) -> bool:
    """Whether the file is a protobuf message whose first field is a piece: a text, a score and perhaps a type."""
    if head[:1] != b"\x0a":
        return False
    size, at = _varint(head, 1)
    piece = head[at : at + size]
    if not piece or len(piece) != size or piece[0] != 0x0A:
        return False
    length, at = _varint(piece, 1)
    rest = piece[at + length :]
    return at + length <= size and rest[:1] in (b"", b"\x15", b"\x18")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            return 0, at
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
    return 0, at


def _json_object(head: bytes, file: IO[bytes], path: str) -> Kind | None:
    """Return the kind of a JSON file. Keys identify a tokenizer.json or a tekken.json, numeric values a vocab.json."""
    data = head
    while True:
        members = numbers = 0
        for key, value in _members(data):
            members += 1
            if value.isdigit():
                numbers += 1
                if members == numbers == _NUMBERS:
                    vocab_and_merges(path, Kind.VOCAB_JSON)  # raises if merges.txt is missing
                    return Kind.VOCAB_JSON
            elif key in _TOKENIZER_KEYS and value in (b"{", b"[", b"null"):
                return Kind.TOKENIZER_JSON
            elif key == b'"vocab"' and value == b"[":
                return Kind.TEKKEN
            elif key == b'"vocab"' and value == b"{":
                raise VocabularyError(f"{path} is the vocabulary of a CRAYON cartridge: give the .dat beside it")
        more = file.read(len(data)) if len(data) < _MOST else b""
        if not more:
            # A settings file may have a few numbers only, so a short vocab.json needs its merges.txt as evidence.
            return Kind.VOCAB_JSON if members == numbers > 0 and _other_file(path, Kind.VOCAB_JSON) else None
        data += more


def _members(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The keys of the outermost object, each with the first token of its value, as far as `data` goes."""
    depth, key, has_colon = 0, b"", False
    for match in _JSON_TOKEN.finditer(data.removeprefix(b"\xef\xbb\xbf")):
        token = match.group()
        if depth == 1 and has_colon:
            yield key, token
            has_colon = False
        elif depth == 1 and token.startswith(b'"'):
            key = token
        elif depth == 1 and token.startswith(b":"):
            has_colon = True
            if len(token) > 1:  # a number or a word directly after the colon
                yield key, token[1:]
                has_colon = False
        depth += (token in (b"{", b"[")) - (token in (b"}", b"]"))


def _lines(start: bytes, file: IO[bytes], path: str) -> Kind | None:
    """Return the kind of a text file by its lines: ranks, merges or tokens. `start` is its beginning, already read."""
    head = start + file.read(_TEXT - len(start))
    is_whole = len(head) < _TEXT
    if b"\0" in head or not _is_utf8(head, is_whole):
        return None
    lines = head.splitlines() if is_whole else head.splitlines()[:-1]
    some = [line for line in lines[:1000] if line]
    if not some:
        return None
    if all(_RANK_LINE.fullmatch(line) and _is_base64(line.split()[0]) for line in some):
        return Kind.TIKTOKEN
    is_versioned = some[0].startswith(b"#version")
    if all(_MERGE_LINE.fullmatch(line) for line in some[is_versioned:]):
        if is_versioned:
            vocab_and_merges(path, Kind.MERGES)  # raises if vocab.json is missing
        if _other_file(path, Kind.MERGES):
            return Kind.MERGES
    if any(b" " in line or b"\t" in line for line in some):
        return None
    every = head if is_whole else head + file.read(_MOST)
    return Kind.WORDPIECE if _WORDPIECE_LINE.search(every) else None


def _is_utf8(head: bytes, is_whole: bool) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return not is_whole and error.reason == "unexpected end of data"
    return True


def _is_base64(text: bytes) -> bool:
    try:
        return bool(binascii.a2b_base64(text))
    except binascii.Error:
        return False
