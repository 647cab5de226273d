"""Any bytes as a tiktoken rank file, with any pattern: VocabularyError, or the ids that tiktoken gives."""

from __future__ import annotations

from collections.abc import Iterator

from crayon_hf.formats.tiktoken import (
    CL100K_PATTERN,
    O200K_PATTERN,
    R50K_PATTERN,
    RankFile,
    tokenizer_json,
    write_ranks,
)
from crayon_hf.formats.tiktoken import read_ranks as read
from tests.fuzz.edge import mutators
from tests.fuzz.edge.choices import SEPARATOR, parts_of, text_of
from tests.fuzz.edge.judging import PROBES, Defect, converted, judge_document

mutate = mutators.separated

_PATTERNS = (R50K_PATTERN, CL100K_PATTERN, O200K_PATTERN)


def one_input(data: bytes) -> None:
    head, *body = parts_of(data, 3)
    special = text_of(body[0]) if len(body) == 2 else ""
    ranks = converted(read, body[-1] if body else head)
    if ranks is None:
        return
    if converted(read, write_ranks(ranks)) != ranks:
        raise Defect("what was written is read as other ranks")
    pattern = _PATTERNS[len(head) % 3]
    special_tokens = {special: max(ranks.values()) + 1} if special else {}
    document = converted(tokenizer_json, ranks, RankFile(None, pattern, special_tokens))
    if document is None:
        return
    judge_document(document)
    _compare(ranks, pattern, special_tokens, document)


def _compare(ranks: dict[bytes, int], pattern: str, special_tokens: dict[str, int], document: bytes) -> None:
    import tiktoken
    import tokenizers

    if max(ranks.values()) >= 2**20:
        return
    if any(bytes([byte]) not in ranks for byte in range(256)):
        return  # tiktoken panics on a text with such a byte
    theirs = tiktoken.Encoding("any", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special_tokens)
    stock = tokenizers.Tokenizer.from_str(document.decode())
    for text in (*PROBES, *special_tokens):
        expected, said = theirs.encode(text, allowed_special="all"), stock.encode(text).ids
        if said != expected:
            raise Defect(f"{text!a}: {said}, tiktoken {expected}")


def seeds() -> Iterator[bytes]:
    """The bytes in order, in another one, and with merges."""
    plain = {bytes([byte]): byte for byte in range(256)}
    merged = plain | {token: 256 + at for at, token in enumerate((b"he", b"ll", b"llo", b"hello", b" w", b"\xc3\xa9"))}
    turned = {bytes([255 - byte]): byte for byte in range(256)} | {b"aa": 300, b"aaa": 301, b"ab": 299}
    for head, ranks in ((b"", plain), (b"1", merged), (b"22", turned), (b"1", {b"a": 0, b"b": 1, b"ab": 2})):
        yield head + SEPARATOR + b"<|end|>" + SEPARATOR + write_ranks(ranks)
