"""``python -m parity.sources FILE...``: what is converted against the libraries that the files are for.

For SentencePiece models, GGUF files, ``tekken.json`` and CRAYON's version 2 cartridges; `run` is for what the libraries
``tokenizers`` and ``tiktoken`` read. Ids are compared, and where the library decodes as we do, texts. A GGUF file is
compared with its published vectors as well, if these lie beside it (``.inp``, ``.out``).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from crayon_hf import CrayonVocab, Tokenizer
from crayon_hf.errors import CrayonError, UnsupportedError
from crayon_hf.formats.recognise import Kind, recognise
from crayon_hf.parity.compare.records import Item, Mode, Side, has_surrogates
from crayon_hf.parity.compare.sentencepiece_side import OurPiecesSide, SentencePieceSide
from crayon_hf.parity.inputs.strings import generate
from crayon_hf.parity.inputs.texts import CORPUS, find_text, load_documents
from crayon_hf.parity.inputs.token_strings import generate_of_tokens

_BATCH = 1000
_VECTORS = "\n__ggml_vocab_test__\n"

Ids = list[int]


class Sides(NamedTuple):
    """One source, opened by its own library and by us."""

    package: str
    expected: Callable[[list[str]], list[Ids]]
    ours: Callable[[list[str]], list[Ids]]
    text_of: Callable[[list[Ids]], list[str]] | None = None
    our_text_of: Callable[[list[Ids]], list[str]] | None = None


def open_sides(path: str) -> Sides:
    """UnsupportedError for a kind that has no library here."""
    kind = recognise(path)
    if kind is Kind.SENTENCEPIECE:
        processor = import_module("sentencepiece").SentencePieceProcessor(model_file=path)
        tokenizer = Tokenizer.from_file(path)
        expected, found = (_ids_of(side) for side in (SentencePieceSide(processor), OurPiecesSide(tokenizer)))
        return Sides("sentencepiece", expected, found, *_ours(tokenizer, _each(processor.decode))[1:])
    if kind is Kind.TEKKEN:
        tekkenizer = import_module("mistral_common.tokens.tokenizers.tekken").Tekkenizer.from_file(Path(path))
        tokenizer = Tokenizer.from_file(path)
        tokenizer.encode_special_tokens = True  # the reference finds no special tokens in a text
        encode = _each(lambda text: tekkenizer.encode(text, bos=False, eos=False))
        return Sides("mistral-common", encode, *_ours(tokenizer, _each(tekkenizer.decode)))
    if kind is Kind.GGUF:
        model = import_module("llama_cpp").Llama(model_path=path, vocab_only=True, verbose=False)
        encode = _each(lambda text: model.tokenize(text.encode(), add_bos=False, special=True))
        return Sides("llama-cpp-python", encode, *_ours(Tokenizer.from_file(path), None))
    if kind is Kind.CRAYON_V2:
        crayon = import_module("crayon.c_ext.crayon_cpu")
        crayon.load_dat(Path(path).read_bytes())
        vocab = CrayonVocab(compat="xerv")
        vocab.load_profile(path)
        return Sides("xerv-crayon", _each(crayon.tokenize), vocab.tokenize)
    raise UnsupportedError(f"{path} is {kind.value}: parity.runner compares it")


def _ids_of(side: Side) -> Callable[[list[str]], list[Ids]]:
    def ids(texts: list[str]) -> list[Ids]:
        items: list[Item] = [(text,) for text in texts]
        return [outcome.fields["ids"] for outcome in side.outcomes(items, Mode())]

    return ids


def _each(work: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    return lambda items: [work(item) for item in items]


def _ours(tokenizer: Tokenizer, decode: Any) -> tuple[Any, Any, Any]:
    def encode(texts: list[str]) -> list[Ids]:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    if decode is None:
        return encode, None, None
    return encode, decode, lambda rows: tokenizer.decode_batch(rows, skip_special_tokens=False)


def compare(sides: Sides, texts: Iterator[str]) -> tuple[int, int, int, str | None]:
    """How many texts, how many with other ids, how many with another text, and the shortest of those with other ids."""
    count = other_ids = other_texts = 0
    shortest: str | None = None
    while batch := list(islice(texts, _BATCH)):
        expected, found = sides.expected(batch), sides.ours(batch)
        count += len(batch)
        for text, one, two in zip(batch, expected, found, strict=True):
            if one != two:
                other_ids += 1
                shortest = text if shortest is None or len(text) < len(shortest) else shortest
        if sides.text_of is not None and sides.our_text_of is not None:
            pairs = zip(sides.text_of(expected), sides.our_text_of(expected), strict=True)
            other_texts += sum(one != two for one, two in pairs)
    return count, other_ids, other_texts, shortest


def strings_for(path: str, n: int, seed: int) -> Iterator[str]:
    """Hostile strings and strings of the vocabulary's own tokens, without surrogates, which no library takes."""
    tokenizer = Tokenizer.from_file(path)
    tokens = [
        tokenizer.decode([id], skip_special_tokens=False).encode() for id in sorted(tokenizer.get_vocab().values())
    ]
    specials = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    made = (*generate(n, seed, specials=specials), *generate_of_tokens([t for t in tokens if t], n // 4, seed))
    return (text for _, text in made if not has_surrogates((text,)))


def vectors_of(path: str) -> tuple[list[str], list[Ids]] | None:
    """The texts and ids that llama.cpp publishes with its vocabularies."""
    if not os.path.exists(path + ".inp"):
        return None
    texts = Path(path + ".inp").read_bytes().decode().split(_VECTORS)
    lines = Path(path + ".out").read_text(encoding="utf-8").split("\n")
    return texts, [[int(word) for word in line.split()] for line in lines][: len(texts)]


def check(path: str, strings: int, texts: Sequence[str], limit: int | None, seed: int) -> int:
    """Print what is found; how many differences there were."""
    name, differences = os.path.basename(path), 0
    vectors = vectors_of(path)
    if vectors is not None:
        tokenizer = Tokenizer.from_file(path)
        found = [tokenizer.encode(text, add_special_tokens=False).ids for text in vectors[0]]
        wrong = sum(one != two for one, two in zip(vectors[1], found, strict=True))
        differences += wrong
        print(f"{name:40} {'published vectors':18} {len(found):8} texts  {_verdict(wrong, 0)}", flush=True)
    try:
        sides = open_sides(path)
    except ImportError as error:
        print(f"{name:40} not compared further: {error}", flush=True)
        return differences
    suites: dict[str, Iterator[str]] = {"strings": strings_for(path, strings, seed)} if strings else {}
    for text in texts:
        suites |= {key: iter(found) for key, found in load_documents([text], limit=limit).items()}
    for suite, made in suites.items():
        count, ids, decoded, shortest = compare(sides, made)
        differences += ids + decoded
        print(f"{name:40} {suite:18} {count:8} texts  {_verdict(ids, decoded)}, {_version(sides.package)}", flush=True)
        if shortest is not None:
            print(
                f"    such as {shortest[:80]!r}: {sides.expected([shortest])[0][:12]} {sides.ours([shortest])[0][:12]}"
            )
    return differences


def _verdict(ids: int, texts: int) -> str:
    if not ids and not texts:
        return "no difference"
    return f"{ids} with OTHER IDS" + (f", {texts} with ANOTHER TEXT" if texts else "")


def _version(package: str) -> str:
    return f"{package} {version(package)}"


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m parity.sources", description=__doc__)
    parser.add_argument("sources", nargs="+", metavar="FILE")
    parser.add_argument("--strings", type=int, default=20_000, metavar="N", help="generated (default %(default)s)")
    parser.add_argument("--texts", action="store_true", help="also the three texts of $CRAYON_SHARED/corpus")
    parser.add_argument("--text", action="append", default=[], metavar="FILE", help="also this text; may be repeated")
    parser.add_argument("--megabytes", type=float, metavar="MB", help="at most so much of each text")
    parser.add_argument("--seed", type=int, default=1, help="default %(default)s")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The command: 0 when all ids and texts are equal, 1 when some are not, 2 when it could not start."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    texts = [*(CORPUS if arguments.texts else ()), *arguments.text]
    limit = None if arguments.megabytes is None else int(arguments.megabytes * 1e6)
    try:
        for text in texts:
            find_text(text)
        differences = sum(check(path, arguments.strings, texts, limit, arguments.seed) for path in arguments.sources)
    except (CrayonError, OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    print("no difference" if not differences else f"{differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
