"""tiktoken's rank files (``*.tiktoken``) to ``tokenizer.json``.

The result opens in stock ``tokenizers`` and gives the same ids there. It has the vocabulary in the byte-level alphabet,
and one merge for each token that merging can reach, in order of rank. It sets ``ignore_merges``, because tiktoken looks
up a whole pretoken before it merges.
"""

from __future__ import annotations

import binascii
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from crayon_hf import _core
from crayon_hf.cartridges import cache
from crayon_hf.cartridges.compiling import Compiled, Recipe, compile_json
from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.tokenizer_json.parts import BPE, added_token, byte_level, split, whole_document
from crayon_hf.util.byte_level import unspell
from crayon_hf.util.damage import damage_of
from crayon_hf.util.extras import needed

from .converted import written

REVISION = 1
"""A part of the key under which results are cached. Raise it when the same rank file yields another tokenizer.json."""


class KnownEncoding(NamedTuple):
    """A published encoding: its rank file, and the facts that the file does not contain."""

    file: str  # the name of the rank file, which several encodings can share
    pattern: str
    special_tokens: dict[str, int]


class KnownFile(NamedTuple):
    """How to recognise a published rank file."""

    sha256: str
    cache_name: str  # tiktoken keeps a fetched file under the SHA-1 of its address
    tokens: int


# The facts below are those of tiktoken 0.14, module tiktoken_ext.openai_public.
KNOWN_FILES = {
    "r50k_base": KnownFile(
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
        "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4",
        50256,
    ),
    "p50k_base": KnownFile(
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
        "ec7223a39ce59f226a68acc30dc1af2788490e15",
        50280,
    ),
    "cl100k_base": KnownFile(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        100256,
    ),
    "o200k_base": KnownFile(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        199998,
    ),
}

R50K_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
CL100K_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
O200K_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

_END = "<|endoftext|>"
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_HARMONY = {
    200002: "return",
    200003: "constrain",
    200005: "channel",
    200006: "start",
    200007: "end",
    200008: "message",
    200012: "call",
}

KNOWN_ENCODINGS = {
    "gpt2": KnownEncoding("r50k_base", R50K_PATTERN, {_END: 50256}),
    "r50k_base": KnownEncoding("r50k_base", R50K_PATTERN, {_END: 50256}),
    "p50k_base": KnownEncoding("p50k_base", R50K_PATTERN, {_END: 50256}),
    "p50k_edit": KnownEncoding(
        "p50k_base", R50K_PATTERN, {_END: 50256, **dict(zip(_FIM, range(50281, 50284), strict=True))}
    ),
    "cl100k_base": KnownEncoding(
        "cl100k_base",
        CL100K_PATTERN,
        {_END: 100257, **dict(zip(_FIM, range(100258, 100261), strict=True)), "<|endofprompt|>": 100276},
    ),
    "o200k_base": KnownEncoding("o200k_base", O200K_PATTERN, {_END: 199999, "<|endofprompt|>": 200018}),
    "o200k_harmony": KnownEncoding(
        "o200k_base",
        O200K_PATTERN,
        {"<|startoftext|>": 199998, _END: 199999, "<|endofprompt|>": 200018}  # 200018 has two names
        | {f"<|{_HARMONY.get(i, f'reserved_{i}')}|>": i for i in range(200000, 201088)},
    ),
}


class RankFile(NamedTuple):
    """The facts of an encoding besides its ranks; `name` is the encoding's name, if known."""

    name: str | None
    pattern: str
    special_tokens: dict[str, int]

    @property
    def recipe_name(self) -> str:
        """A key that distinguishes different patterns and special tokens for one rank file."""
        facts = json.dumps([self.name, self.pattern, sorted(self.special_tokens.items())])
        return f"tiktoken/{REVISION}/{sha256(facts.encode()).hexdigest()}"


def identify(
    digest: str,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> RankFile:
    """Return the facts of the rank file with this SHA-256. The other arguments override published facts."""
    file = next((key for key, known in KNOWN_FILES.items() if known.sha256 == digest), None)
    encoding = KNOWN_ENCODINGS.get(name if name is not None else file or "")
    if encoding is not None and file is not None and encoding.file != file and pattern is None:
        raise VocabularyError(f"this is the rank file of {file}, not that of {name}")
    if pattern is None:
        if encoding is None:
            known = ", ".join(KNOWN_ENCODINGS)
            wanted = "this rank file is not a published one" if name is None else f"{name!r} is not a known encoding"
            raise VocabularyError(f"{wanted}: give its pattern= (or name=, one of {known})")
        pattern = encoding.pattern
    if special_tokens is None:
        special_tokens = encoding.special_tokens if encoding is not None else {}
    return RankFile(name if name is not None else file, pattern, dict(special_tokens))


def cache_directory() -> str:
    """Return the directory where tiktoken keeps fetched files, or an empty string if it keeps none."""
    directory = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    return os.path.join(tempfile.gettempdir(), "data-gym-cache") if directory is None else directory


def find_published_file(name: str) -> str | None:
    """Return the path of a known encoding's rank file in tiktoken's own cache, or None if it is missing or damaged."""
    encoding = KNOWN_ENCODINGS.get(name)
    if encoding is None:
        return None
    directory = cache_directory()
    if not directory:
        return None
    known = KNOWN_FILES[encoding.file]
    path = os.path.join(directory, known.cache_name)
    try:
        return path if cache.source_digest(path) == known.sha256 else None
    except (OSError, VocabularyError):  # a file that is too large is damaged
        return None


def fetch_published_file(name: str) -> bytes:
    """The rank file of a known encoding, from the tiktoken library, which may fetch it over the network."""
    with needed(f"the rank file of {name} is not in tiktoken's cache: fetching it", "tiktoken", "tiktoken"):
        from tiktoken_ext.openai_public import ENCODING_CONSTRUCTORS
    try:
        ranks: dict[bytes, int] = ENCODING_CONSTRUCTORS[name]()["mergeable_ranks"]
    except Exception as error:  # any error of the network
        known = KNOWN_ENCODINGS[name].file
        directory = cache_directory() or "DIRECTORY, with TIKTOKEN_CACHE_DIR=DIRECTORY"
        raise VocabularyError(
            f"the rank file of {name} is not in tiktoken's cache, and tiktoken could not fetch it "
            f"({_first_words(error)}). With a network it is fetched once. Without one, copy {known}.tiktoken from "
            f"another machine: give its path (from_tiktoken('{known}.tiktoken')), or put it where tiktoken looks for "
            f"it, {os.path.join(directory, KNOWN_FILES[known].cache_name)}"
        ) from error
    return write_ranks(ranks)


def _first_words(error: Exception) -> str:
    """Return the first words of an error's innermost cause. The outer errors print whole connection objects."""
    reason: BaseException = error
    while (inner := reason.__cause__ or reason.__context__) is not None:
        reason = inner
    said = " ".join(str(reason).split()) or type(reason).__name__
    return said if len(said) <= 120 else f"{said[:120]}..."


def read_ranks(data: bytes) -> dict[bytes, int]:
    """The tokens of a rank file and their ranks: each line is a token in base64, a space, and its rank."""
    if (damage := damage_of(data)) is not None:
        raise VocabularyError(f"the rank file {damage}")
    usual = _core.read_rank_file(data)
    if usual is not None:
        return usual
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        try:
            encoded, rank = line.split()
            token, value = binascii.a2b_base64(encoded), int(rank)
        except ValueError as error:
            raise VocabularyError(f"line {number} of the rank file is not a token in base64 and a rank") from error
        if value < 0:
            raise VocabularyError(f"line {number} of the rank file has a negative rank")
        if token in ranks:
            raise VocabularyError(f"line {number} of the rank file repeats a token that has rank {ranks[token]}")
        ranks[token] = value
    if not ranks:
        raise VocabularyError("the rank file is empty")
    return ranks


def write_ranks(ranks: Mapping[bytes, int]) -> bytes:
    """Return a rank file, which `read_ranks` reads, with its lines in order of rank."""
    order = sorted(ranks, key=ranks.__getitem__)
    usual = None if b"" in ranks else _core.rank_file(order, [ranks[token] for token in order])
    if usual is not None:
        return usual
    lines = (
        (binascii.b2a_base64(token, newline=False) or b"=") + b" %d\n" % rank  # Whisper's files write "=", too
        for token, rank in sorted(ranks.items(), key=lambda item: item[1])
    )
    return b"".join(lines)


def tokenizer_json(ranks: Mapping[bytes, int], facts: RankFile) -> bytes:
    """Return the ``tokenizer.json`` of tokens and their ids. The ids are ranks, or other numbers in the same order.

    Raises UnsupportedError if no ``tokenizer.json`` does what tiktoken does.
    """
    order = sorted(ranks, key=ranks.__getitem__)
    ids = [ranks[token] for token in order]
    distinct = set(ids)
    if len(distinct) != len(ids):
        raise VocabularyError("the rank file gives the same rank to two tokens")
    specials = list(_special_tokens(facts, ranks, distinct))
    named = {special["content"]: special["id"] for special in specials}
    if b"" in ranks:
        # No merge makes the empty token, and no pretoken equals it, unless the pattern matches empty text.
        if _core.family_of_pattern(facts.pattern, "rust_regex") is None:
            raise UnsupportedError(f"an empty token, beside pattern {facts.pattern!r}")
        named = dict(sorted({**named, "": ranks[b""]}.items(), key=lambda item: item[1]))
        at = order.index(b"")
        del order[at], ids[at]
    if max([*ids[-1:], *named.values()], default=0) >= 1 << 63:
        raise VocabularyError(f"an id of the rank file, {max([*ids, *named.values()])}, is too large")
    if all(bytes((byte,)) in ranks for byte in range(256)):  # otherwise the ranks are refused, whatever the pattern
        split_pattern(facts.pattern)  # raises before the slow search for merges
    vocabulary = _core.vocabulary_of_ranks(order, ids, named)
    document = whole_document(
        {**BPE, "ignore_merges": True},
        added_tokens=specials,
        pre_tokenizer={"type": "Sequence", "pretokenizers": [split(split_pattern(facts.pattern)), byte_level()]},
        decoder=byte_level(add_prefix_space=True, use_regex=True),
    )
    return b"%s,%s}}" % (written(document).removesuffix(b"}}"), vocabulary)


def recipe(facts: RankFile) -> Recipe:
    """Return the recipe by which the cache compiles a rank file: to a ``tokenizer.json``, and that to a cartridge."""
    metadata = json.dumps({"reference": "tiktoken", "name": facts.name}, separators=(",", ":"))

    def compile_ranks(data: bytes) -> Compiled:
        source = tokenizer_json(read_ranks(data), facts)
        return Compiled(compile_json(source, metadata), source)

    return Recipe(facts.recipe_name, compile_ranks)


def split_pattern(pattern: str) -> str:
    """Return a tiktoken pattern in the spelling of ``tokenizer.json``.

    Raises UnsupportedError for a pattern that the engine does not support.

    Two regular-expression engines can read one pattern differently (``{1,3}+`` is possessive to tiktoken, and a
    repeat of a repeat to tokenizers), so the pattern is translated by its meaning.
    """
    if _core.is_read_alike(pattern):
        return pattern
    family = _core.family_of_pattern(pattern, "rust_regex")
    if family is None:
        raise UnsupportedError(f"pattern {pattern!r}")
    canonical: str = _core.canonical_pattern(family)
    return canonical


def _special_tokens(facts: RankFile, ranks: Mapping[bytes, int], ids: set[int]) -> Iterator[dict[str, Any]]:
    for content, id in sorted(facts.special_tokens.items(), key=lambda item: item[1]):
        if not content or not isinstance(id, int) or id < 0:
            raise VocabularyError(f"special token {content!r} cannot have id {id!r}")
        if unspell(content) in ranks:
            # tiktoken keeps the two tokens apart; a tokenizer.json has one id for one string.
            raise UnsupportedError(f"special token {content!r}, which is also an ordinary token")
        if id in ids:
            raise VocabularyError(f"special token {content!r} has id {id}, which another token has")
        if not _is_bracketed(content):
            # The converted model's vocabulary has special tokens, too: it could give this one for ordinary text.
            raise UnsupportedError(f"special token {content!r}, which could be a piece of ordinary text")
        yield added_token(id, content)


def _is_bracketed(content: str) -> bool:
    """Whether a token is letters or digits between marks, like ``<|end|>``: all published patterns split such text."""
    first, last = content[0], content[-1]
    return not (first.isalnum() or first.isspace() or last.isalnum() or last.isspace()) and any(
        char.isascii() and char.isalnum() for char in content
    )
