"""Second implementations of parts of the engine, makers of small vocabularies, and comparison with ``tokenizers``.

Such a second implementation is a plain twin: it follows the definition, and is slow, short and without tricks.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from tokenizers import Tokenizer

from crayon_hf import _core
from crayon_hf.errors import CrayonError
from crayon_hf.tokenizer_json.parts import BPE, byte_level, whole_document
from tests.support.versions import SHOWS_NORMALIZED, shown_otherwise

Document = dict[str, Any]
Merge = tuple[bytes, bytes]


@pytest.fixture(scope="module", params=_core.cpu_levels())
def cpu(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a module's tests once for each instruction set, which CRAYON_CPU names for the engines that they open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRAYON_CPU", request.param)
        yield request.param


# -- the byte-level alphabet


def _byte_chars() -> list[str]:
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    chars = {b: chr(b) for b in printable} | {b: chr(0x100 + i) for i, b in enumerate(others)}
    return [chars[b] for b in range(256)]


# Kimi K2's pattern: the engine has no special scanner for it, and both regular expression engines read it alike.
KIMI_PATTERN = (
    r"[\p{Han}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

BYTE_CHARS = _byte_chars()
CHAR_BYTES = {c: b for b, c in enumerate(BYTE_CHARS)}


def spell(data: bytes) -> str:
    """The byte-level spelling of bytes: one printable character for each, as in GPT-2's vocabulary."""
    return "".join(BYTE_CHARS[b] for b in data)


def token_bytes(token: str) -> bytes:
    """The bytes that a token decodes to: its spelling read as the byte-level alphabet, or if that fails as UTF-8."""
    if all(c in CHAR_BYTES for c in token):
        return bytes(CHAR_BYTES[c] for c in token)
    return token.encode()


def ranked_tokens(document: Document) -> list[bytes]:
    """The tokens of byte-level BPE in the order of a rank file: single bytes, then the products of merges."""
    products = ("".join(pair) for pair in document["model"]["merges"])
    return list(dict.fromkeys([*(bytes([byte]) for byte in range(256)), *map(token_bytes, products)]))


# -- merging


def merge_ranks(document: Document) -> dict[tuple[int, int], tuple[int, int]]:
    """Map (left id, right id) to (rank, product id) for the merges of a document. Of equal pairs the last one
    counts."""
    vocab = document["model"]["vocab"]
    return {(vocab[a], vocab[b]): (rank, vocab[a + b]) for rank, (a, b) in enumerate(document["model"]["merges"])}


def merge(document: Document, data: bytes) -> tuple[list[int], list[int]]:
    """The ids of one pretoken by merging, and the ranks of its merges in order.

    The rule: join the leftmost neighbours of lowest rank, until no neighbours can merge.
    """
    table = merge_ranks(document)
    ids = [document["model"]["vocab"][BYTE_CHARS[b]] for b in data]
    applied = []
    while True:
        candidates = [(table[pair][0], at) for at, pair in enumerate(pairwise(ids)) if pair in table]
        if not candidates:
            return ids, applied
        rank, at = min(candidates)
        ids[at : at + 2] = [table[ids[at], ids[at + 1]][1]]
        applied.append(rank)


# -- vocabularies


def byte_level_document(
    merges: Sequence[Merge] = (), *, seed: int | None = None, more: Sequence[str] = (), **parts: Any
) -> Document:
    """A tokenizer.json of byte-level BPE with these merges, in which each text is one pretoken. ``seed`` shuffles the
    ids, and ``more`` adds tokens.

    ``parts`` replaces top-level fields.
    """
    tokens = list(dict.fromkeys([*BYTE_CHARS, *(spell(a + b) for a, b in merges), *more]))
    if seed is not None:
        random.Random(seed).shuffle(tokens)
    vocab = {token: i for i, token in enumerate(tokens)}
    model = {**BPE, "vocab": vocab, "merges": [[spell(a), spell(b)] for a, b in merges]}
    decoder = byte_level(add_prefix_space=True, use_regex=True)
    document = whole_document(model, pre_tokenizer=byte_level(), decoder=decoder)
    return document | parts


def component(part: Any) -> Any:
    """The JSON of a component of ``tokenizers``."""
    return None if part is None else json.loads(part.__getstate__())


def stock_with(**parts: Any) -> Tokenizer:
    """A tokenizer of ``tokenizers`` with these components. Its only token is also the unknown token, for every word."""
    model = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
    return Tokenizer.from_str(json.dumps({"added_tokens": [], "model": model} | parts))


def random_merges(
    rng: random.Random, letters: Sequence[bytes], count: int, *, longest: int = 12, ordered: bool = True
) -> list[Merge]:
    """Random merges of letters and of tokens that earlier merges make. Unless ``ordered``, ranks are shuffled."""
    tokens = list(dict.fromkeys(letters))
    merges: dict[Merge, None] = {}
    for _ in range(count * 4):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if len(left + right) <= longest and (left, right) not in merges and len(merges) < count:
            merges[left, right] = None
            if left + right not in tokens:
                tokens.append(left + right)
    out = list(merges)
    if not ordered:
        rng.shuffle(out)
    return out


def compiled(document: Document | str, flavor: str = "oniguruma") -> bytes:
    """The cartridge of a document."""
    text = document if isinstance(document, str) else json.dumps(document)
    return _core.compile_tokenizer_json(text.encode(), flavor=flavor)


def open_engine(document: Document | str, flavor: str = "oniguruma") -> _core.Engine:
    """The engine of a document, on the instruction set that CRAYON_CPU names, with a verified cartridge."""
    return _core.Engine.from_bytes(compiled(document, flavor))


# -- comparison

_RECORD = "ids type_ids tokens offsets attention_mask special_tokens_mask word_ids sequence_ids n_sequences"
RECORD = tuple(_RECORD.split())


def record(encoding: Any) -> dict[str, Any]:
    """All fields of an encoding, and the number of its overflowing encodings."""
    return {name: getattr(encoding, name) for name in RECORD} | {"overflowing": len(encoding.overflowing)}


def lookups(encoding: Any, characters: int) -> dict[str, Any]:
    """The results of all lookups of an encoding, including some out of range."""
    tokens = [*range(len(encoding) + 3), 10**6]
    words = [*sorted({w for w in encoding.word_ids if w is not None}), len(encoding) + 1, 10**6]
    chars = [*range(characters + 3), 10**6]
    out: dict[str, Any] = {}
    for name in ("token_to_sequence", "token_to_chars", "token_to_word"):
        out[name] = [getattr(encoding, name)(token) for token in tokens]
    for sequence in (0, 1, 2, 7):
        for name, places in (
            ("word_to_tokens", words),
            ("word_to_chars", words),
            ("char_to_token", chars),
            ("char_to_word", chars),
        ):
            out[f"{name} in {sequence}"] = [getattr(encoding, name)(place, sequence) for place in places]
    return out


def assert_same(got: Any, want: Any, what: str) -> None:
    """Check that two encodings are equal. The error names `what` and the differing fields."""
    ours, theirs = record(got), record(want)
    different = [f"{name}: {ours[name]!r}, reference {theirs[name]!r}" for name in ours if ours[name] != theirs[name]]
    assert not different, "\n".join([what, *different])


def try_reference(call: Callable[[], Any]) -> Any:
    """The result of a call of ``tokenizers``, or None if it raises. This includes panics, BaseExceptions whose class
    cannot be imported."""
    try:
        return call()
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return None


class Both:
    """The engine and ``tokenizers`` (the reference), opened from the same document."""

    def __init__(self, document: Document | str) -> None:
        text = document if isinstance(document, str) else json.dumps(document)
        self.engine = open_engine(text)
        self.reference = Tokenizer.from_str(text)
        # The document's truncation and padding, which the engine takes with each call. Calls for ids ignore them.
        self.settings: dict[str, Any] = {}
        self.plain_reference = self.reference
        if self.reference.truncation or self.reference.padding:
            self.plain_reference = Tokenizer.from_str(text)
            self.plain_reference.no_truncation()
            self.plain_reference.no_padding()
        if (cut := self.reference.truncation) is not None:
            names = ("max_length", "stride", "strategy", "direction")
            self.settings["truncation"] = tuple(cut[name] for name in names)
        if (pad := self.reference.padding) is not None:
            names = ("length", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token")
            self.settings["padding"] = tuple(pad[name] for name in names)

    def check(
        self,
        sequence: Any,
        pair: Any = None,
        *,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
        special_as_text: bool = False,
        also_lookups: bool = False,
    ) -> None:
        """Encode an input with every call of the engine, and compare the results with the reference."""
        self.reference.encode_special_tokens = special_as_text
        options: dict[str, Any] = {"add_special_tokens": add_special_tokens, "special_as_text": special_as_text}
        options |= self.settings
        want = try_reference(lambda: self.reference.encode(sequence, pair, is_pretokenized, add_special_tokens))
        if want is None:
            # Truncating a missing second sequence is a wrong argument.
            with pytest.raises((CrayonError, TypeError, ValueError) if self.settings else (CrayonError, TypeError)):
                self.engine.encode(sequence, pair, is_pretokenized, **options)
            return
        got = self.engine.encode(sequence, pair, is_pretokenized, **options)
        what = f"{sequence!r} with {pair!r}, {is_pretokenized=} {add_special_tokens=} {special_as_text=}"
        assert_same(got, want, what)
        assert len(got) == len(want)
        if also_lookups:
            size = max(len("".join(text)) for text in (sequence, pair or ""))
            ours, theirs = lookups(got, size), lookups(want, size)
            different = {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}
            assert not different, f"{what}: ours, reference: {different}"
        item = sequence if pair is None else (sequence, pair)
        (in_batch,) = self.engine.encode_batch([item], is_pretokenized, **options)
        assert_same(in_batch, want, what)
        (bare,) = self.engine.encode_batch([item], is_pretokenized, **options, offsets=False)
        assert record(bare) == record(want) | {"offsets": [(0, 0)] * len(want)}
        if pair is None and not is_pretokenized:
            if self.settings:
                self.plain_reference.encode_special_tokens = special_as_text
                want = self.plain_reference.encode(sequence, None, is_pretokenized, add_special_tokens)
            options = {"add_special_tokens": add_special_tokens, "special_as_text": special_as_text}
            self.check_ids(sequence, want.ids, options)

    def check_decode(self, ids: list[int]) -> None:
        """Compare the decoded text with the reference, with and without special tokens. Ids that an older reference
        decodes differently are not compared."""
        if not SHOWS_NORMALIZED and shown_otherwise(self.reference).intersection(ids):
            return
        for skip in (False, True):
            want = try_reference(lambda skip=skip: self.reference.decode(ids, skip))
            if want is None:
                with pytest.raises((CrayonError, ValueError)):
                    self.engine.decode(ids, skip)
            else:
                assert self.engine.decode(ids, skip) == want, f"decoding {ids}, {skip=}"

    def check_ids(self, text: str, ids: list[int], options: dict[str, Any]) -> None:
        """Check that the engine's calls that return only ids return `ids`."""
        assert self.engine.encode_ids(text, **options) == ids
        assert self.engine.encode_ids(text.encode(), **options) == ids
        flat, splits = self.engine.encode_ragged([text, "", text.encode()], **options)
        assert (flat.dtype, splits.dtype) == (np.int32, np.int64)
        assert splits[0] == 0
        assert flat[: splits[1]].tolist() == ids
        assert flat[splits[2] : splits[3]].tolist() == ids
        counts = self.engine.count_tokens([text, text.encode(), ""], **options)
        assert counts == [len(ids), len(ids), int(splits[2] - splits[1])]


def texts_of(pieces: Sequence[str], *, size: int = 12) -> st.SearchStrategy[str]:
    """Random texts of at most `size` pieces, with a few characters of any kind between them."""
    piece = st.sampled_from(list(pieces))
    return st.lists(st.one_of(piece, piece, piece, st.text(max_size=2)), max_size=size).map("".join)


# -- texts to train on

SCRIPTS = (
    "etaoinshrdlucmfwygpbvkqjxz",
    "\u00e9\u00e0\u00fc\u00f6\u00e4\u00dfabcdelnrstu\u00f1\u00e7",
    "\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437\u0438\u043a\u043b\u043c\u043d\u043e\u043f\u0440\u0441\u0442",
    "\u0905\u0915\u0916\u0917\u091a\u0924\u0928\u092a\u092e\u0930\u0932\u0938\u093e\u093f\u0940\u094d\u0902",
    "\u0627\u0628\u062a\u062c\u062d\u062f\u0631\u0633\u0639\u0641\u0642\u0643\u0644\u0645\u0646\u0647\u0648\u064a",
)
SEPARATORS = [*" " * 5, ", ", ". ", "\n", "\n\n", " - ", "; ", "'s ", "'ll ", "(", ") ", "\t", "  ", "    "]


def generated_text(rng: random.Random, size: int) -> str:
    """About ``size`` characters in several scripts, with few common and many rare words."""
    words = ["".join(rng.choices(s[:12], k=rng.randint(1, 10))) for s in SCRIPTS for _ in range(600)]
    words += ["".join(chr(rng.randint(0x4E00, 0x4FFF)) for _ in range(rng.randint(1, 4))) for _ in range(300)]
    words += [str(rng.randint(0, 99999)) for _ in range(150)]
    words += ["\U0001f642", "\U0001f469\u200d\U0001f4bb", "\u00bd", "\u0663"]
    rng.shuffle(words)
    words += [word.capitalize() for word in words[:200]] + [word.upper() for word in words[:100]]
    out = []
    while size > 0:
        word = words[int(len(words) * rng.random() ** 3)]
        out += [word, rng.choice(SEPARATORS)]
        size -= len(word) + 1
    return "".join(out)
