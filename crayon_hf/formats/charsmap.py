"""Express SentencePiece's normalization rules (``precompiled_charsmap``) in ``tokenizer.json``.

The rules are a trie of the texts to replace (a double array of Darts-clone) and their replacements, each ended by a
zero byte. SentencePiece applies the longest rule that matches, from left to right. The ``Precompiled`` of
``tokenizers`` has the same trie, but looks up one character, or one grapheme cluster of less than six bytes, which the
shortest matching rule then replaces whole. So a letter with marks loses marks, and longer clusters are not composed.

So the components first insert a control character between characters that no rule replaces together (`_apart`). It ends
clusters, and ``NFKC`` does not compose across it. NFKC then composes the other neighbours, so ``Precompiled`` sees only
single characters.

SentencePiece's rules derive from NFKC, so these steps give the results of the rules. That is checked for each character
and each rule. Characters with other results are shielded; a rule with another result raises UnsupportedError. One
exception: letters newer than Unicode 9, unknown to the NFKC of ``tokenizers``, are not composed with marks.

SentencePiece's own rule sets have 225,000 rules: `_core.CharsmapRules` reads and compares them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import sha256
from itertools import product

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError
from crayon_hf.formats.literals import literal
from crayon_hf.formats.piece_types import Component, replace

_NFKC = {"type": "NFKC"}
_MOST_DECODERS = 100
_FEW_RULES = 200
"""Up to this number, rules are expressed one by one: those for several characters become steps of their own."""
_PAIR = "\ufff0\ufff1"
"""Inserted between characters if the rules delete no control character. No text has these two characters in a row."""
_SHIELD = "\ufdd6"
_SHIELDS = "".join(map(chr, range(0xFDD8, 0xFDF0)))
"""Noncharacters: three or four in a row replace a text that the rules must not change."""
_MARKS = r"\p{M}\x{200C}\x{200D}\x{0E33}\x{0EB3}\x{FF9E}\x{FF9F}\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}"
"""Characters that can continue a grapheme cluster."""


PROVEN = {
    "7e46d9e08af4b6a37991b04fb8388644c1595a0abcd0f26d6a5d575e2a3663ea": "",  # nfkc
    "d8dfef3d6db0eef0742f8b55a73aee7fce6c1e21d26a09b8d3d4b52c42a791cb": "",  # nfkc_cf
    "1e2c7b43d3ee9755ceaa2ac335e253d8703604e0249ee1e81156c92b46423844": "\uff5e",  # nmt_nfkc
    "2c03512e62f9ed965ec90d85314211b63b5b8aa0395311ea2147eec9ff738907": "\uff5e",  # nmt_nfkc_cf
}
"""SentencePiece's own rule sets by their SHA-256, with the characters that the components map differently.

They are recorded here because comparing all rules takes longer than reading the rest of a small model.
"""


def rules_as_components(
    charsmap: bytes, shielded: Collection[str] = (), written: Callable[[str], str] = str
) -> list[Component]:
    """Return normalizers that together apply the rules and leave `shielded` texts as they are.

    `written` maps the outputs of rules and the shielded texts to their spelling in the result. Raises UnsupportedError
    if no components give the results of the rules.
    """
    rules = _core.CharsmapRules(charsmap)
    alone = precompiled(charsmap)
    proven = PROVEN.get(sha256(charsmap).hexdigest())
    found = rules.as_dict() if proven is None else {}
    replaced = {key: made for key, made in found.items() if written(made) != made}
    if proven is None and len(found) <= _FEW_RULES:
        # Few rules leave characters unchanged that NFKC would change.
        following: dict[str, str] = {}
        replaced |= {key: made for key, made in found.items() if len(key) > 1}
        if overlapping := _overlapping(replaced):
            raise UnsupportedError(f"normalization rules that overlap, such as that for {overlapping[0]!r}")
    else:
        following = rules.following()
    characters = rules.characters()
    mapping: list[Component] = [_NFKC, alone] if following else [alone]
    differing = _differing(rules, {"type": "Sequence", "normalizers": mapping}, replaced) if proven is None else proven
    replaced |= {char: rules.apply(char) for char in differing}
    longer = {key[:end] for key in replaced for end in range(1, len(key))}
    kept = [text for text in shielded if rules.apply(text) != text or written(text) != text or text in longer]
    # At any position a shielded text wins over a rule, even over a longer one.
    taken = tuple(kept)
    shields = {key: written(made) for key, made in replaced.items() if not key.startswith(taken)}
    shields |= {text: written(text) for text in kept}
    width = 1 if len(shields) <= len(_SHIELDS) else 2
    if len(shields) > len(_SHIELDS) ** width:
        raise UnsupportedError(
            f"{len(kept)} user-defined pieces that the normalization rules would change, and "
            f"{len(shields) - len(kept)} characters that they change otherwise than NFKC: a tokenizer.json has at most "
            f"{len(_SHIELDS) ** width} of both"
        )
    marks = map("".join, product(_SHIELDS, repeat=width))
    marked = [(text, f"{_SHIELD}{mark}{_SHIELD}") for text, mark in zip(shields, marks, strict=False)]
    deleted = next((char for char in map(chr, range(1, 9)) if characters.get(char) == ""), None)
    ends = [text for text in shielded if text not in shields and text[-1] in following]
    apart = replace(_apart(characters, following, ends), deleted or _PAIR, regex=True)
    return [
        *(replace(text, mark) for text, mark in sorted(marked, key=lambda pair: len(pair[0]), reverse=True)),
        apart,
        *mapping,
        *([] if deleted else [replace(_PAIR, "")]),
        *(replace(mark, shields[text]) for text, mark in marked),
    ]


def _overlapping(keys: Collection[str]) -> list[str]:
    """The keys that could consume a part of another key, since they are replaced one after the other."""
    starts: dict[str, set[str]] = {}
    for key in keys:
        for end in range(1, len(key)):
            starts.setdefault(key[:end], set()).add(key)
    return [key for key in keys if any(starts.get(key[begin:], {key}) != {key} for begin in range(1, len(key)))]


def precompiled(charsmap: bytes) -> Component:
    """The ``Precompiled`` component with the rules. `tokenizers` applies some of them differently."""
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}


def rules_one_by_one(charsmap: bytes) -> list[Component]:
    """Decoders that together apply a few rules, one decoder for each.

    Raises UnsupportedError if a rule could match a part of another rule's text or of its output.
    """
    rules = _core.CharsmapRules(charsmap).as_dict()
    keys = sorted(rules, key=len, reverse=True)
    again = not set("".join(keys)).isdisjoint("".join(rules.values()))
    closed = "" in rules.values() and len(keys[0]) > 1
    if len(keys) > _MOST_DECODERS or again or closed or _overlapping(keys):
        raise UnsupportedError(f"{len(keys)} normalization rules for decoded text, or some that meet each other")
    return [replace(key, rules[key]) for key in keys]


def _differing(rules: _core.CharsmapRules, mapping: Component, replaced: Collection[str]) -> str:
    """The single characters that the components map differently from the rules.

    Raises UnsupportedError if they map a longer text differently and it is not in `replaced`.
    """
    characters, sequences = rules.differences(json.dumps(mapping))
    for key, made in sequences.items():
        if key not in replaced and not _is_newer(key, made):
            raise UnsupportedError(f"the normalization rule that makes {made!r} of {key!r}")
    return characters


def _is_newer(key: str, made: str) -> bool:
    """Whether the rule composes letters or marks that are newer than Unicode 9."""
    return len(made) == 1 and any(0xA7F1 <= ord(char) <= 0xA7F4 or 0x10500 <= ord(char) < 0x1E100 for char in key)


def _apart(characters: dict[str, str], following: dict[str, str], ends: Sequence[str]) -> str:
    """A zero-width pattern that matches between two characters if no rule replaces them together.

    It also matches after each of `ends`.
    """
    later = set().union(*set(following.values()))
    if twofold := sorted(char for key in following if (char := key[0]) in later and ord(char) < 0x10000):
        raise UnsupportedError(f"normalization rules that begin with {twofold[0]!r}, and others that continue with it")
    single = set(characters)
    alone = rf"(?<=[{_class(single | later)}\p{{M}}])(?=[{_MARKS}])"
    if not later:
        return rf"{alone}|(?<=\r)(?=\n)"
    together = [
        rf"(?=[{_class(next)}])(?<={''.join(f'[{_class(chars)}]' for chars in box)})"
        for next, starts in _grouped(following)
        for length in sorted({len(start) for start in starts})
        for box in _boxes([start for start in starts if len(start) == length])
    ]
    # NFKC also composes characters whose normalized form begins with a character of `later`.
    seconds = f"[{_class(later | {key for key in single if characters[key][:1] in later})}]"
    ended = rf"(?<={'|'.join(map(literal, ends))})|" if ends else ""
    return rf"(?!\A)(?={seconds})(?:{ended}(?!{'|'.join(together)}))|(?!{seconds}){alone}|(?<=\r)(?=\n)"


def _grouped(following: dict[str, str]) -> list[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for start, next in following.items():
        groups.setdefault(next, []).append(start)
    return sorted(groups.items(), key=lambda group: min(group[1]))


def _boxes(texts: Iterable[str]) -> list[tuple[frozenset[str], ...]]:
    """Write texts of one length as products of character sets: ``ac`` and ``bc`` become {a, b} x {c}."""
    tails: dict[str, set[str]] = {}
    for text in texts:
        tails.setdefault(text[0], set()).add(text[1:])
    groups: dict[frozenset[str], set[str]] = {}
    for char, rest in tails.items():
        groups.setdefault(frozenset(rest), set()).add(char)
    return [
        (frozenset(chars), *box)
        for rest, chars in groups.items()
        for box in (_boxes(sorted(rest)) if rest != {""} else [()])
    ]


def _class(chars: Iterable[str]) -> str:
    """Return these characters as the inside of a regular expression's character class."""
    ranges: list[list[int]] = []
    for code in sorted(map(ord, chars)):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\x{{{a:X}}}" if a == b else f"\\x{{{a:X}}}-\\x{{{b:X}}}" for a, b in ranges)
