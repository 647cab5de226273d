"""The measured engines: how each of them opens a vocabulary, sets its threads, encodes and decodes."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from itertools import accumulate
from typing import Any, NamedTuple

from .serve import SkippedError

__all__ = ["Contestant", "distribution_of", "make", "module_of"]

Documents = list[str]


class CannotOpenError(SkippedError):
    """The engine cannot open the vocabulary. The message says why."""


# -- rows: the result of a call, as bytes of 32-bit ids, document by document


def _of_lists(rows: Iterable[Sequence[int]]) -> Iterable[bytes]:
    return (array("I", row).tobytes() for row in rows)


def _of_encodings(rows: Iterable[Any]) -> Iterable[bytes]:
    return _of_lists(row.ids for row in rows)


def _of_ragged(result: Any) -> Iterable[bytes]:
    ids, splits = result
    return _cut(ids, splits.tolist()[1:])


def _cut(ids: Any, ends: Iterable[int]) -> Iterable[bytes]:
    view = memoryview(ids.astype("uint32") if hasattr(ids, "astype") else ids).cast("B")
    start = 0
    for end in ends:
        yield bytes(view[4 * start : 4 * end])
        start = end


class Contestant(NamedTuple):
    """An engine with an open vocabulary."""

    call: str
    """The fastest of the engine's own calls that encode many documents."""
    run: Callable[[Documents], Any]
    short: Callable[[str], Sequence[int]]
    """Encodes one text."""
    decode: Callable[[list[list[int]]], Sequence[str | bytes]]
    decode_call: str = "decode_batch"
    gives: str = "lists"
    rows: Callable[[Any], Iterable[bytes]] = _of_lists
    """Converts the result of `run` to the ids of each document as 32-bit numbers. Never timed."""


def make(engine: str, files: dict[str, Any], threads: int) -> Contestant:
    """Open a vocabulary with an engine. ``files`` comes from ``..vocabularies.prepare``.

    The function that its ``stand_in`` names, if any, replaces the engine.
    """
    if files["stand_in"]:
        module, _, function = files["stand_in"].partition(":")
        encode = getattr(import_module(module), function)(files["json"])
        decode = getattr(encode, "decode", None) or (lambda ids: ["" for _ in ids])
        return Contestant(function, encode, lambda text: encode([text])[0], decode, "decode")
    if "dat" in files and engine not in _OF_CRAYON:
        raise CannotOpenError("it opens no cartridge of CRAYON")
    return ENGINES[engine](files, threads)


def distribution_of(engine: str) -> str:
    """Return the distribution that has an engine."""
    return _DISTRIBUTIONS.get(engine, engine)


def module_of(distribution: str) -> str:
    """Return the module of an engine's distribution."""
    return "crayon" if distribution == "xerv-crayon" else distribution.replace("-", "_")


# -- the engines. Those without an option for threads obey RAYON_NUM_THREADS or OMP_NUM_THREADS.


def _open_crayon(files: dict[str, Any], threads: int) -> Contestant:
    crayon_hf = import_module("crayon_hf")
    if "dat" in files:
        vocab = crayon_hf.CrayonVocab(device="cpu", compat="xerv")
        found = _of_vocab(vocab, files)
        return found._replace(call="encode_ragged", run=vocab.encode_ragged, gives="two arrays", rows=_of_ragged)
    if files["directory"]:
        return _open_transformers(files, threads, "crayon_hf")
    open_file = crayon_hf.Tokenizer.from_tiktoken if files["options"] else crayon_hf.Tokenizer.from_file
    opened = open_file(files["ours"], **files["options"])
    return Contestant(
        "encode_ragged",
        lambda documents: opened.encode_ragged(documents, add_special_tokens=False, threads=threads),
        lambda text: opened.encode(text, add_special_tokens=False).ids,
        lambda ids: opened.decode_batch(ids, skip_special_tokens=False, threads=threads),
        gives="two arrays",
        rows=_of_ragged,
    )


def _open_tokenizers(files: dict[str, Any], threads: int) -> Contestant:
    opened = import_module("tokenizers").Tokenizer.from_file(files["json"])

    def short(text: str) -> Any:
        return opened.encode(text, add_special_tokens=False).ids

    if hasattr(opened, "encode_batch_fast"):
        return Contestant(
            "encode_batch_fast, ids",
            lambda documents: [each.ids for each in opened.encode_batch_fast(documents, add_special_tokens=False)],
            short,
            lambda ids: opened.decode_batch(ids, skip_special_tokens=False),
        )
    run = partial(opened.encode_batch, add_special_tokens=False)  # version 1.0
    one = partial(opened.decode, skip_special_tokens=False)
    by_one = "decode, one by one"
    return Contestant("encode_batch", run, short, lambda ids: [*map(one, ids)], by_one, "Encodings", _of_encodings)


def _open_transformers(files: dict[str, Any], threads: int, package: str = "transformers") -> Contestant:
    """Open a directory with the AutoTokenizer of a package: transformers or crayon_hf."""
    opened = import_module(package).AutoTokenizer.from_pretrained(files["directory"], local_files_only=True)

    def encode(texts: Any) -> Any:
        return opened(texts, add_special_tokens=False)["input_ids"]

    decode = partial(opened.batch_decode, skip_special_tokens=False)
    return Contestant("tokenizer(texts)", encode, encode, decode, "batch_decode")


def _open_sentencepiece(files: dict[str, Any], threads: int) -> Contestant:
    opened = import_module("sentencepiece").SentencePieceProcessor(model_file=files["model"])
    return Contestant("encode", partial(opened.encode, num_threads=threads), opened.encode, opened.decode, "decode")


def _open_tiktoken(files: dict[str, Any], threads: int) -> Contestant:
    if "why_not" in files["ranks"]:
        raise CannotOpenError(files["ranks"]["why_not"])
    path, pattern, special_tokens = (files["ranks"][name] for name in ("path", "pattern", "special_tokens"))
    with open(path, "rb") as stream:
        lines = (line.split() for line in stream.read().splitlines() if line)
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = import_module("tiktoken").Encoding
    opened = encoding(path, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special_tokens)
    run = partial(opened.encode_ordinary_batch, num_threads=threads)
    decode = partial(opened.decode_batch, num_threads=threads)
    return Contestant("encode_ordinary_batch", run, opened.encode_ordinary, decode)


def _open_gigatoken(files: dict[str, Any], threads: int) -> Contestant:
    tokenizer, ranks = import_module("gigatoken").Tokenizer, files["ranks"]
    if files["model"]:
        opened = tokenizer.from_sentencepiece(files["model"])
    else:
        opened = tokenizer.from_tiktoken(ranks["path"]) if ranks.get("encoding") else tokenizer(files["json"])

    def rows(result: Any) -> Iterable[bytes]:
        awkward = import_module("awkward")
        return _cut(
            awkward.to_numpy(awkward.flatten(result)), accumulate(awkward.to_numpy(awkward.num(result)).tolist())
        )

    run, by_one = partial(opened.encode_batch, parallel=threads > 1), "decode, one by one"
    decode = lambda ids: [opened.decode(each) for each in ids]  # noqa: E731
    return Contestant("encode_batch", run, opened.encode, decode, by_one, "an awkward Array", rows)


def _open_fastokens(files: dict[str, Any], threads: int) -> Contestant:
    tokenizer, ranks = import_module("fastokens").Tokenizer, files["ranks"]
    if ranks.get("encoding"):
        opened = tokenizer.from_tiktoken(ranks["path"], encoding=ranks["encoding"])
    else:
        opened = tokenizer.from_file(files["json"])
    return Contestant(
        "encode_batch_flat",
        opened.encode_batch_flat,
        lambda text: opened.encode(text).ids,
        opened.decode_batch,
        gives="two buffers",
        rows=lambda result: _cut(result[0], memoryview(result[1]).cast("Q").tolist()[1:]),
    )


def _open_tokie(files: dict[str, Any], threads: int) -> Contestant:
    opened = import_module("tokie").Tokenizer.from_json(files["json"])
    return Contestant(
        "encode_batch_flat",
        partial(opened.encode_batch_flat, add_special_tokens=False),
        lambda text: opened.encode(text, add_special_tokens=False).ids,
        opened.decode_batch,
        gives="two arrays",
        rows=lambda result: _cut(result[0], accumulate(result[1].tolist())),
    )


def _of_vocab(vocab: Any, files: dict[str, Any]) -> Contestant:
    """Open a version 2 cartridge with a ``CrayonVocab``: CRAYON's or ours."""
    vocab.load_profile(files["dat"])
    return Contestant("tokenize", vocab.tokenize, vocab.tokenize, lambda ids: [*map(vocab.decode, ids)], "decode")


def _open_xerv(files: dict[str, Any], threads: int) -> Contestant:
    return _of_vocab(import_module("crayon").CrayonVocab(device="cpu"), files)


def _open_tokenize(files: dict[str, Any], threads: int) -> Contestant:
    """Our ``CrayonVocab`` with the interface of CRAYON, set to give CRAYON's ids."""
    return _of_vocab(import_module("crayon_hf").CrayonVocab(device="cpu", compat="xerv"), files)


ENGINES: dict[str, Callable[[dict[str, Any], int], Contestant]] = {
    "crayon": _open_crayon,
    "tokenizers": _open_tokenizers,
    "tiktoken": _open_tiktoken,
    "transformers": _open_transformers,
    "sentencepiece": _open_sentencepiece,
    "gigatoken": _open_gigatoken,
    "fastokens": _open_fastokens,
    "tokie": _open_tokie,
    "prerelease": _open_tokenizers,
    "xerv": _open_xerv,
    "xerv-5.7": _open_xerv,
    "tokenize": _open_tokenize,
}
"""The functions that open a vocabulary with an engine."""
_OF_CRAYON = ("crayon", "tokenize", "xerv", "xerv-5.7")
"""The engines that open a version 2 cartridge."""
_OURS = ("crayon", "tokenize", "encode_ragged", "no_cartridge", "no_cache", "crayon_in_datatrove")
_DISTRIBUTIONS = {
    **dict.fromkeys(_OURS, "crayon-hf"),
    **dict.fromkeys(("xerv", "xerv-5.7"), "xerv-crayon"),
    "prerelease": "tokenizers",
}
"""The distributions of engines that have other names, those of whole jobs included."""
