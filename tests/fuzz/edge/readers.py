"""Fuzz targets that read any bytes as a vocabulary. Reading raises a CrayonError, or the tokenizer encodes as the
format's own library. ``tokenizers`` opens the same documents as our reader of tokenizer.json."""

from __future__ import annotations

import base64
import contextlib
import json
import warnings
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

import sentencepiece
import tiktoken
import tokenizers

import crayon_hf
from crayon_hf import Tokenizer, _core
from crayon_hf.cartridges.opened_source import OpenedSource, Source
from crayon_hf.formats import convert, crayon_v2, gguf, tekken
from crayon_hf.formats import sentencepiece as models
from crayon_hf.formats import tiktoken as rank_files
from crayon_hf.formats.repository import opened_cartridge
from crayon_hf.parity.compare.records import Mode, Outcome
from crayon_hf.tokenizer_state.state import TokenizerState
from tests.fuzz.edge import judging
from tests.fuzz.edge.judging import PROBES, Defect, converted, directory, dumped, judge_document
from tests.fuzz.edge.mutating import SEPARATOR, json_document, text_of

PATTERNS = (rank_files.R50K_PATTERN, rank_files.CL100K_PATTERN, rank_files.O200K_PATTERN)
LAYOUTS = (  # the vocabulary, and the names in the order of the parts; one that may hold the separator comes last
    (
        "vocab.json",
        ("vocab.json", "merges.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    ),
    (
        "vocab.txt",
        ("vocab.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json"),
    ),
    ("tokenizer.json", ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")),
    ("any", ("any",)),
    ("v.dat", ("v.json", "v.dat")),
    ("tokenizer.model", ("tokenizer_config.json", "config.json", "tokenizer.model")),
    ("gpt2-merges.txt", ("gpt2-vocab.json", "gpt2-merges.txt")),
)


def read_gguf(data: bytes) -> None:
    path = directory() / "v.gguf"
    path.write_bytes(data)
    _judge(converted(gguf.read_gguf, path))


def read_tekken(data: bytes) -> None:
    _judge(converted(tekken.read_tekken, data))


def read_crayon_v2(data: bytes) -> None:
    """The input has CRAYON's list of tokens, if a separator follows it, and then a version 2 cartridge."""
    beside, has_companion, cartridge = data.partition(SEPARATOR)
    tokens = converted(crayon_v2.read_companion, beside) if has_companion and beside else None
    _judge(converted(crayon_v2.read_crayon_v2, cartridge if has_companion else beside, tokens))


def read_vocab_files(data: bytes) -> None:
    """The input has the files of a directory. Its first two bytes choose their names, and whether the directory or a
    single file is read."""
    choice, one_file, *_ = *data[:2], 0, 0
    vocabulary, names = LAYOUTS[choice % len(LAYOUTS)]
    folder = directory()
    for name, part in zip(names, data[2:].split(SEPARATOR, len(names) - 1), strict=False):
        if part != b"-":  # a missing file
            (folder / name).write_bytes(part)
    is_file = one_file & 1 and (folder / vocabulary).exists()
    result = converted(convert, folder / vocabulary if is_file else folder)
    if result is not None:
        dumped(result.config)  # must be serializable
        judge_document(result.tokenizer_json)


def mutate_vocab_files(data: bytes, rng: Random) -> bytes | None:
    """Mutate one of the input's JSON files; libFuzzer mutates the other files and the first two bytes."""
    parts = data[2:].split(SEPARATOR)
    at = rng.randrange(len(parts))
    changed = json_document(parts[at], rng)
    return None if changed is None else data[:2] + SEPARATOR.join([*parts[:at], changed, *parts[at + 1 :]])


def read_ranks(data: bytes) -> None:
    """The input has a pattern, a special token, and a tiktoken rank file."""
    head, *body = data.split(SEPARATOR, 2)
    special = text_of(body[0]) if len(body) == 2 else ""
    found = converted(rank_files.read_ranks, body[-1] if body else head)
    if found is None:
        return
    if converted(rank_files.read_ranks, rank_files.write_ranks(found)) != found:
        raise Defect("what was written is read as other ranks")
    pattern = PATTERNS[len(head) % 3]
    special_tokens = {special: max(found.values()) + 1} if special else {}
    document = converted(rank_files.tokenizer_json, found, rank_files.RankFile(None, pattern, special_tokens))
    if document is None:
        return
    judge_document(document)
    if max(found.values()) >= 2**20 or any(bytes([byte]) not in found for byte in range(256)):
        return  # tiktoken panics on a text with such a byte
    library = tiktoken.Encoding("any", pat_str=pattern, mergeable_ranks=found, special_tokens=special_tokens)
    stock = tokenizers.Tokenizer.from_str(document.decode())
    for text in (*PROBES, *special_tokens):
        _same(text, stock.encode(text).ids, library.encode(text, allowed_special="all"))


def read_sentencepiece(data: bytes) -> None:
    """The input is a SentencePiece model, which is opened and converted."""
    library: Any = None
    with contextlib.suppress(RuntimeError, OSError, UnicodeDecodeError):  # a valid model needs more than pieces
        library = sentencepiece.SentencePieceProcessor(model_proto=data)  # type: ignore[call-arg]
    opened = converted(partial(models.read_sentencepiece, opening=True), data)
    engine = opened and converted(lambda _: _core.Engine.from_bytes(opened_cartridge(opened)), data)
    if engine is not None and library is not None:
        tokenizer = Tokenizer._of(TokenizerState(OpenedSource(engine, Source(None))))
        for text in PROBES:
            found = converted(lambda _, text=text: tokenizer.encode(text, add_special_tokens=False).ids, data)
            if found is not None:
                _same(text, found, library.encode(text))
    result = converted(models.read_sentencepiece, data)
    if result is None:
        return
    judge_document(result.tokenizer_json)
    # Between pieces of equal score the library's choice varies: docs/sources.md.
    if library is not None and json.loads(result.tokenizer_json)["model"]["type"] == "BPE":
        stock = tokenizers.Tokenizer.from_str(result.tokenizer_json.decode())
        for text in PROBES:
            _same(text, stock.encode(text, add_special_tokens=False).ids, library.encode(text))


def read_charsmap(data: bytes) -> None:
    """The input has a text, and then SentencePiece's normalization rules, which become a normalizer."""
    size = 1 + data[0] % 32 if data else 0
    text, rules = text_of(data[1:size]), data[size + 1 :]
    converted(lambda _: _core.CharsmapRules(rules).as_dict(), rules)
    part = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(rules).decode()}
    model = {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}
    empty = dict.fromkeys(("truncation", "padding", "pre_tokenizer", "post_processor", "decoder"))
    document = {"version": "1.0", "added_tokens": [], **empty, "normalizer": part, "model": model}
    judge_document(dumped(document), [text, text.upper(), "a\u00a0\ufb01 e\u0301"])


def _judge(result: Any) -> None:
    if result is not None:
        judge_document(result.tokenizer_json)


def _same(text: str, ours: list[int], theirs: list[int]) -> None:
    if ours != theirs:
        raise Defect(f"{text!a}: {ours}, the library {theirs}")


def tokenizer_json(data: bytes) -> None:
    """The input has a document, and then a text to encode with it."""
    document, _, said = data.partition(SEPARATOR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", crayon_hf.DelegatedWarning)
        try:
            ours: Any = crayon_hf.Tokenizer.from_buffer(document)
        except crayon_hf.CrayonError as error:
            ours = Outcome.of_error(error)
    if _counts_up(document) or judging.by_chance(document):
        return
    reference = judging.reference_of(document)
    if isinstance(reference, Outcome):
        if not isinstance(ours, Outcome) and reference.error[0] != "PanicException":
            raise Defect(f"only the reference refuses it: {reference.error[0]}: {reference.message}")
    elif isinstance(ours, Outcome):
        if not judging.is_for_the_library(ours):
            raise Defect(f"only ours refuses it: {ours.error[0]}: {ours.message}")
    else:
        texts = [text_of(said), *PROBES] if said else list(PROBES)
        judging.compare(ours, reference, [(text,) for text in texts])
        judging.compare(ours, reference, [(texts[0], texts[-1])], Mode(add_special_tokens=False), fast=False)


def mutate_first_part(data: bytes, rng: Random) -> bytes | None:
    """Mutate the part before the separator as JSON; libFuzzer mutates the rest."""
    document, separator, rest = data.partition(SEPARATOR)
    changed = json_document(document, rng)
    return None if changed is None else changed + separator + rest


def _counts_up(document: bytes) -> bool:
    """Whether the document has a number so large that ``tokenizers`` could allocate memory for all ids up to it."""
    try:
        numbers = [int(digits) for digits in _numbers(json.loads(document))]
    except (ValueError, RecursionError, OverflowError):
        return False
    return max(numbers, default=0) > judging.MOST_IDS


def _numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
