"""A list of terms to a ``tokenizer.json`` that cuts a text into the longest of them, and the rest into bytes.

Such a small vocabulary for one domain is what CRAYON calls a cartridge. It needs no training, and is compiled in
milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable

from crayon_hf.errors import VocabularyError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.crayon_v2 import longest_match
from crayon_hf.util.byte_level import spell


def from_terms(terms: Iterable[str | bytes]) -> Converted:
    """The vocabulary of the 256 bytes (ids 0 to 255) and then the terms, in their order.

    A term matches wherever it stands, inside a word too; one that shall only begin a word has a space in front. Terms
    that are there already (a byte, or the same term again) are left out. VocabularyError for an empty term, and
    for one with surrogates.

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
