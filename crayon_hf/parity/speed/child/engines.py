"""The measured engines: how each of them opens a vocabulary, sets its threads, encodes and decodes."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from itertools import accumulate
from typing import Any, NamedTuple

from .serve import SkippedError

__all__ = ["ENGINES", "MODULES", "Call", "CannotOpenError", "Contestant", "make"]

Documents = list[str]


class CannotOpenError(SkippedError):
    """The engine cannot open the vocabulary. The message says why."""


class Call(NamedTuple):
    """One call of an engine that encodes many documents."""

    name: str
    gives: str
    run: Callable[[Documents], Any]
    rows: Callable[[Any], Iterable[bytes]]
    """Converts the result of ``run`` to the ids of each document as 32-bit numbers. Never timed."""


class Contestant(NamedTuple):
    """An engine with an open vocabulary."""

    best: Call
    """The fastest of the engine's own batch calls."""
    lists: Call
    """The fastest batch call that returns lists of ints."""
    short: Callable[[str], Sequence[int]]
    decode_name: str
    decode: Callable[[list[list[int]]], Sequence[str | bytes]]


def make(engine: str, files: dict[str, Any], threads: int) -> Contestant:
    """Open a vocabulary with an engine. ``files`` comes from ``..vocabularies.prepare``.

    The function that its ``stand_in`` names, if any, replaces the engine.
    """
    if files.get("stand_in"):
        module, _, function = files["stand_in"].partition(":")
        opened = getattr(import_module(module), function)(_argument(engine, files))
        return _crayon(opened, threads) if engine == "crayon" else _plain(opened, function, threads)
    if "dat" in files and engine not in _OF_CRAYON:
        raise CannotOpenError("it opens no cartridge of CRAYON")
    return ENGINES[engine][1](files, threads)


def _argument(engine: str, files: dict[str, Any]) -> Any:
    """Return the argument of the function that replaces an engine.

    It is a Vocabulary for our engine, and the path of the ``tokenizer.json`` for others.
    """
    if engine != "crayon":
        return files["json"]
    from pathlib import Path

    plain = files["vocabulary"]
    return import_module("crayon_hf.parity.compare.references").Vocabulary(**{**plain, "path": Path(plain["path"])})


# -- rows: the result of a call, as bytes of 32-bit ids, document by document


def _cut(flat: Any, ends: Iterable[int]) -> Iterable[bytes]:
    view = memoryview(flat).cast("B")
    start = 0
    for end in ends:
        yield bytes(view[4 * start : 4 * end])
        start = end


def _rows_of_lists(rows: Iterable[Sequence[int]]) -> Iterable[bytes]:
    return (array("I", row).tobytes() for row in rows)


def _rows_of_encodings(rows: Iterable[Any]) -> Iterable[bytes]:
    return (array("I", row.ids).tobytes() for row in rows)


def _lists(name: str, run: Callable[[Documents], Any]) -> Call:
    return Call(name, "lists", run, _rows_of_lists)


def _ids(encodings: Iterable[Any]) -> list[list[int]]:
    return [encoding.ids for encoding in encodings]


def _same(call: Call, short: Callable[[str], Any], decode_name: str, decode: Callable[..., Any]) -> Contestant:
    """Make the contestant of an engine whose fastest call returns lists."""
    return Contestant(call, call, short, decode_name, decode)


def _rows_of_ragged(result: Any) -> Iterable[bytes]:
    ids, splits = result
    return _cut(ids.astype("uint32").tobytes(), splits.tolist()[1:])


# -- the engines


def _crayon(opened: Any, threads: int) -> Contestant:
    def ragged(docs: Documents) -> Any:
        return opened.encode_ragged(docs, add_special_tokens=False, threads=threads)

    def lists(docs: Documents) -> Any:
        return _ids(opened.encode_batch_fast(docs, add_special_tokens=False, threads=threads))

    def decode(ids: list[list[int]]) -> Any:
        try:
            return opened.decode_batch(ids, skip_special_tokens=False, threads=threads)
        except TypeError:  # a substitute
            return opened.decode_batch(ids, skip_special_tokens=False)

    return Contestant(
        Call("encode_ragged", "two arrays", ragged, _rows_of_ragged),
        _lists("encode_batch_fast, ids", lists),
        lambda text: opened.encode(text, add_special_tokens=False).ids,
        "decode_batch",
        decode,
    )


def _open_crayon(files: dict[str, Any], threads: int) -> Contestant:
    if "dat" in files:
        return _open_vocab(files, threads)
    crayon_hf = import_module("crayon_hf")
    if files.get("directory"):
        return _auto("crayon_hf", files["directory"])
    ranks = files.get("rank_file")
    if files.get("ours"):
        opened = crayon_hf.Tokenizer.from_file(files["ours"])
    elif not ranks:
        opened = crayon_hf.Tokenizer.from_file(files["model"] or files["json"])
    elif ranks["encoding"]:
        opened = crayon_hf.Tokenizer.from_tiktoken(ranks["path"], name=ranks["encoding"])
    else:
        opened = crayon_hf.Tokenizer.from_tiktoken(
            ranks["path"], pattern=ranks["pattern"], special_tokens=ranks["special_tokens"]
        )
    return _crayon(opened, threads)


def _open_tokenizers(files: dict[str, Any], threads: int) -> Contestant:
    opened = import_module("tokenizers").Tokenizer.from_file(files["json"])  # threads: RAYON_NUM_THREADS
    if not hasattr(opened, "encode_batch_fast"):  # version 1.0 is installed
        return _open_prerelease(files, threads)
    return _same(
        _lists("encode_batch_fast, ids", lambda docs: _ids(opened.encode_batch_fast(docs, add_special_tokens=False))),
        lambda text: opened.encode(text, add_special_tokens=False).ids,
        "decode_batch",
        lambda ids: opened.decode_batch(ids, skip_special_tokens=False),
    )


def _open_prerelease(files: dict[str, Any], threads: int) -> Contestant:
    opened = import_module("tokenizers").Tokenizer.from_file(files["json"])  # threads: RAYON_NUM_THREADS

    def encode(docs: Documents) -> Any:
        return opened.encode_batch(docs, add_special_tokens=False)

    return Contestant(
        Call("encode_batch", "Encodings", encode, _rows_of_encodings),
        _lists("encode_batch, ids", lambda docs: _ids(encode(docs))),
        lambda text: opened.encode(text, add_special_tokens=False).ids,
        "decode, one by one",
        lambda ids: [opened.decode(each, skip_special_tokens=False) for each in ids],
    )


def _auto(package: str, directory: str) -> Contestant:
    """Open a directory with the AutoTokenizer of a package: transformers or crayon_hf."""
    opened = import_module(package).AutoTokenizer.from_pretrained(directory, local_files_only=True)
    return _same(
        _lists("tokenizer(texts)", lambda docs: opened(docs, add_special_tokens=False)["input_ids"]),
        lambda text: opened(text, add_special_tokens=False)["input_ids"],
        "batch_decode",
        lambda ids: opened.batch_decode(ids, skip_special_tokens=False),
    )


def _open_transformers(files: dict[str, Any], threads: int) -> Contestant:
    if not files.get("directory"):
        raise CannotOpenError("transformers opens directories")
    return _auto("transformers", files["directory"])  # threads: RAYON_NUM_THREADS


def _open_sentencepiece(files: dict[str, Any], threads: int) -> Contestant:
    if not files["model"]:
        raise CannotOpenError("sentencepiece opens its own models")
    opened = import_module("sentencepiece").SentencePieceProcessor(model_file=files["model"])
    call = _lists("encode", lambda docs: opened.encode(docs, num_threads=threads))
    return _same(call, opened.encode, "decode", opened.decode)


def _open_tiktoken(files: dict[str, Any], threads: int) -> Contestant:
    if isinstance(files["tiktoken"], str):
        raise CannotOpenError(files["tiktoken"])
    pieces = dict(files["tiktoken"])
    with open(pieces.pop("ranks"), "rb") as stream:
        lines = (line.split() for line in stream.read().splitlines() if line)
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    opened = import_module("tiktoken").Encoding(mergeable_ranks=ranks, **pieces)
    return _same(
        _lists("encode_ordinary_batch", lambda docs: opened.encode_ordinary_batch(docs, num_threads=threads)),
        opened.encode_ordinary,
        "decode_batch",
        lambda ids: opened.decode_batch(ids, num_threads=threads),
    )


def _open_gigatoken(files: dict[str, Any], threads: int) -> Contestant:
    tokenizer, ranks = import_module("gigatoken").Tokenizer, files["rank_file"]
    if files["model"]:
        opened = tokenizer.from_sentencepiece(files["model"])
    elif ranks and ranks["encoding"]:
        opened = tokenizer.from_tiktoken(ranks["path"])
    else:
        opened = tokenizer(files["json"])
    parallel = threads > 1  # RAYON_NUM_THREADS sets the number

    def rows(result: Any) -> Iterable[bytes]:
        awkward = import_module("awkward")
        flat = awkward.to_numpy(awkward.flatten(result)).astype("uint32")
        return _cut(flat.tobytes(), accumulate(awkward.to_numpy(awkward.num(result)).tolist()))

    return Contestant(
        Call("encode_batch", "an awkward Array", lambda docs: opened.encode_batch(docs, parallel=parallel), rows),
        _lists("encode_batch_list", lambda docs: opened.encode_batch_list(docs, parallel=parallel)),
        opened.encode,
        "decode, one by one",
        lambda ids: [opened.decode(each) for each in ids],
    )


def _open_fastokens(files: dict[str, Any], threads: int) -> Contestant:
    tokenizer, ranks = import_module("fastokens").Tokenizer, files["rank_file"]  # threads: RAYON_NUM_THREADS
    if ranks and ranks["encoding"]:
        opened = tokenizer.from_tiktoken(ranks["path"], encoding=ranks["encoding"])
    else:
        opened = tokenizer.from_file(files["json"])

    def rows(result: Any) -> Iterable[bytes]:
        ids, offsets = result
        return _cut(ids, memoryview(offsets).cast("Q").tolist()[1:])

    return Contestant(
        Call("encode_batch_flat", "two buffers", opened.encode_batch_flat, rows),
        _lists("encode_batch, ids", lambda docs: _ids(opened.encode_batch(docs))),
        lambda text: opened.encode(text).ids,
        "decode_batch",
        opened.decode_batch,
    )


def _open_tokie(files: dict[str, Any], threads: int) -> Contestant:
    opened = import_module("tokie").Tokenizer.from_json(files["json"])  # threads: RAYON_NUM_THREADS

    def flat(docs: Documents) -> Any:
        return opened.encode_batch_flat(docs, add_special_tokens=False)

    def rows(result: Any) -> Iterable[bytes]:
        ids, lengths = result
        return _cut(ids.astype("uint32").tobytes(), accumulate(lengths.tolist()))

    return Contestant(
        Call("encode_batch_flat", "two arrays", flat, rows),
        _lists("encode_batch, ids", lambda docs: _ids(opened.encode_batch(docs, add_special_tokens=False))),
        lambda text: opened.encode(text, add_special_tokens=False).ids,
        "decode_batch",
        opened.decode_batch,
    )


def _open_xerv(files: dict[str, Any], threads: int) -> Contestant:
    """CRAYON's ``CrayonVocab`` on the CPU, with a version 2 cartridge."""
    opened = import_module("crayon").CrayonVocab(device="cpu")  # threads: OMP_NUM_THREADS
    opened.load_profile(files["dat"])
    call = _lists("tokenize", opened.tokenize)
    return _same(call, opened.tokenize, "decode", lambda ids: [opened.decode(row) for row in ids])


def _open_vocab(files: dict[str, Any], threads: int) -> Contestant:
    """Our ``CrayonVocab``, set to give CRAYON's ids."""
    opened = import_module("crayon_hf").CrayonVocab(device="cpu", compat="xerv")
    opened.load_profile(files["dat"])
    return Contestant(
        Call("encode_ragged", "two arrays", opened.encode_ragged, _rows_of_ragged),
        _lists("tokenize", opened.tokenize),
        opened.tokenize,
        "decode",
        lambda ids: [opened.decode(row) for row in ids],
    )


def _open_tokenize(files: dict[str, Any], threads: int) -> Contestant:
    """Our ``CrayonVocab``, with the interface of CRAYON."""
    vocab = _open_vocab(files, threads)
    return vocab._replace(best=vocab.lists)


def _plain(encode: Any, name: str, threads: int) -> Contestant:
    """Make a contestant of a function from documents to lists of ids, which replaces another library's engine."""
    decode = getattr(encode, "decode", None) or (lambda ids: ["" for _ in ids])
    return _same(_lists(name, encode), lambda text: encode([text])[0], "decode", decode)


# By name: the distribution to install, and the function that opens a vocabulary.
ENGINES: dict[str, tuple[str, Callable[[dict[str, Any], int], Contestant]]] = {
    "crayon": ("crayon-hf", _open_crayon),
    "tokenizers": ("tokenizers", _open_tokenizers),
    "tiktoken": ("tiktoken", _open_tiktoken),
    "transformers": ("transformers", _open_transformers),
    "sentencepiece": ("sentencepiece", _open_sentencepiece),
    "gigatoken": ("gigatoken", _open_gigatoken),
    "fastokens": ("fastokens", _open_fastokens),
    "tokie": ("tokie", _open_tokie),
    "prerelease": ("tokenizers", _open_prerelease),
    "xerv": ("xerv-crayon", _open_xerv),
    "xerv-5.7": ("xerv-crayon", _open_xerv),
    "tokenize": ("crayon-hf", _open_tokenize),
}
_OF_CRAYON = ("crayon", "tokenize", "xerv", "xerv-5.7")
"""The engines that open a version 2 cartridge."""
MODULES = {"xerv-crayon": "crayon"}
"""The modules of distributions whose module has another name."""
