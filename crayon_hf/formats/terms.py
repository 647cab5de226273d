"""A ``tokenizer.json`` from a list of terms: it cuts a text into the longest terms, and text between them into bytes.

CRAYON calls such a small vocabulary for one domain a cartridge. It needs no training, and compiles in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable

from crayon_hf.errors import VocabularyError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.crayon_v2 import longest_match
from crayon_hf.util.byte_level import spell


def from_terms(terms: Iterable[str | bytes]) -> Converted:
    """Make a vocabulary of the 256 bytes (ids 0 to 255) and then the terms, in their order.

    A term matches anywhere, inside a word too; a term that must begin a word needs a space in front. Duplicates (a
    single byte, or a repeated term) are left out. Raises VocabularyError for an empty term, or one with surrogates.

    docs/sources.md has examples.
    """
    if isinstance(terms, (str, bytes)):
        raise TypeError("terms are a list of str or bytes, not one")
    tokens = dict.fromkeys(bytes([byte]) for byte in range(256))
    for term in terms:
        if not isinstance(term, (str, bytes)):
            raise TypeError(f"a term is a str or bytes, not {type(term).__name__}")
        try:
            token = term.encode() if isinstance(term, str) else term
        except UnicodeEncodeError as error:
            raise VocabularyError(f"the term {term!r} has a lone surrogate, which is not valid text") from error
        if not token:
            raise VocabularyError("an empty term matches nothing: leave it out")
        tokens.setdefault(token)
    vocab = {spell(token): id for id, token in enumerate(tokens)}
    return Converted(longest_match(vocab, spell(b"\0")), {}, "tokenizers")
