"""SentencePiece's normalization rules (``precompiled_charsmap``): reading them, and saying them in ``tokenizer.json``.

The rules are a trie of what is replaced (a double array of Darts-clone) and the replacements, each ended by a zero
byte. SentencePiece goes through a text from left to right and takes the longest rule that fits. The ``Precompiled`` of
``tokenizers`` has the same trie, but asks it about one grapheme cluster of less than six bytes, of which the shortest
rule then replaces all, or about one character. So a base with marks loses marks, and what is longer is not composed.

Here a control character is put between characters that no rule takes together (`_apart`): it ends clusters, and keeps
``NFKC`` from composing. What is left together is what NFKC composes: it does that, and ``Precompiled`` then sees single
characters alone. The rules are made from NFKC, so that both after each other give what the rules give: that is compared
for each character and each rule. Other characters are shielded, other rules are UnsupportedError. Only letters newer
than Unicode 9, which the NFKC of ``tokenizers`` does not know, are not composed with marks.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.literals import literal
from crayon_hf.formats.piece_types import Component, replace

Rules = dict[str, str]
_NFKC = {"type": "NFKC"}
_LONGEST_RULE = 64
"""Bytes. SentencePiece's own rules have up to 16."""
_MOST_PLACES = 4_000_000
"""Of the trie, on all ways from its root. SentencePiece's own have a tenth of that."""
_MOST_DECODERS = 100
_PAIR = "\ufff0\ufff1"
"""What is put between characters where the rules delete no control character: two that no text has in a row."""
_SHIELD = "\ufdd6"
_SHIELDS = "".join(map(chr, range(0xFDD8, 0xFDF0)))
"""Noncharacters: three or four in a row stand for a text that the rules must not see."""
_MARKS = r"\p{M}\x{200C}\x{200D}\x{0E33}\x{0EB3}\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}"
"""What can belong to a cluster that another character begins."""


def rules_as_components(charsmap: bytes, shielded: Sequence[str] = ()) -> list[Component]:
    """Normalizers that do together what the rules do, and leave `shielded` texts as they are.

    UnsupportedError when they cannot.
    """
    rules = rules_of(charsmap)
    precompiled = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
    composed = any(len(key) > 1 for key in rules)
    mapping: list[Component] = [_NFKC, precompiled] if composed else [precompiled]
    following = _following(rules)
    kept = [text for text, made in zip(shielded, applied(shielded, rules), strict=True) if made != text]
    kept += _differing(rules, {"type": "Sequence", "normalizers": mapping})
    width = 1 if len(kept) <= len(_SHIELDS) else 2
    if len(kept) > len(_SHIELDS) ** width:
        raise UnsupportedError(f"normalization rules that would change {len(kept)} user-defined pieces or characters")
    marks = map("".join, product(_SHIELDS, repeat=width))
    shields = [(text, f"{_SHIELD}{mark}{_SHIELD}") for text, mark in zip(kept, marks, strict=False)]
    deleted = next((char for char in map(chr, range(1, 9)) if rules.get(char) == ""), None)
    ends = [text for text in shielded if text not in kept and text[-1] in following]
    apart = replace(_apart(rules, following, ends), deleted or _PAIR, regex=True)
    return [
        *(replace(text, shield) for text, shield in sorted(shields, key=lambda pair: len(pair[0]), reverse=True)),
        apart,
        *mapping,
        *([] if deleted else [replace(_PAIR, "")]),
        *(replace(shield, text) for text, shield in shields),
    ]


def rules_one_by_one(charsmap: bytes) -> list[Component]:
    """Decoders that do together what a few rules do, each for one of them.

    UnsupportedError when one could take what is another's: a part of it, or of what that makes.
    """
    rules = rules_of(charsmap)
    keys = sorted(rules, key=len, reverse=True)
    starts = {key[:end] for key in keys for end in range(1, len(key))}
    overlap = any(key[begin:] in starts for key in keys for begin in range(1, len(key)))
    again = not set("".join(keys)).isdisjoint("".join(rules.values()))
    closed = "" in rules.values() and len(keys[0]) > 1
    if len(keys) > _MOST_DECODERS or overlap or again or closed:
        raise UnsupportedError(f"{len(keys)} normalization rules for decoded text, or some that meet each other")
    return [replace(key, rules[key]) for key in keys]


def rules_of(charsmap: bytes) -> Rules:
    """What is replaced, and by what. VocabularyError when the data is damaged."""
    size = int.from_bytes(charsmap[:4], "little")
    if len(charsmap) < 4 or size % 4 or not 4 < size + 4 < len(charsmap):
        raise VocabularyError("the normalization rules are damaged: their trie is longer than the data")
    units = struct.unpack_from(f"<{size // 4}I", charsmap, 4)
    outputs = charsmap[4 + size :]
    rules: Rules = {}
    try:
        for key, value in _keys(units):
            end = outputs.index(0, value)
            rules[key.decode()] = outputs[value:end].decode()
    except OverflowError as error:
        raise VocabularyError(f"the normalization rules are damaged: {error}") from error
    except (ValueError, IndexError) as error:  # UnicodeDecodeError is a ValueError
        raise VocabularyError("the normalization rules are damaged: a rule is not UTF-8, or has no end") from error
    return rules


_BYTE = [bytes((byte,)) for byte in range(256)]


def _keys(units: Sequence[int]) -> Iterator[tuple[bytes, int]]:
    """Darts-clone: a unit has a label, whether a value follows, and how far away (XOR) its children are."""
    children: dict[int, list[tuple[bytes, int]]] = {}
    for place, unit in enumerate(units):
        if 0 < (label := unit & 0x8000_00FF) < 0x100:
            children.setdefault(place ^ label, []).append((_BYTE[label], place))
    reached = 0
    waiting = [(b"", 0)]
    while waiting:
        key, place = waiting.pop()
        reached += 1
        if reached > _MOST_PLACES or len(key) > _LONGEST_RULE:
            raise OverflowError(f"more than {_MOST_PLACES} places, or a rule for more than {_LONGEST_RULE} bytes")
        unit = units[place]
        base = place ^ ((unit >> 10) << ((unit & 0x200) >> 6))
        if unit & 0x100:
            yield key, units[base] & 0x7FFF_FFFF
        waiting += [(key + label, child) for label, child in children.get(base, ())]


def applied(texts: Iterable[str], rules: Rules) -> list[str]:
    """What the rules make of texts: from left to right, the longest that fits."""
    longest = max(map(len, rules), default=1)
    results = []
    for text in texts:
        made, at = [], 0
        while at < len(text):
            fits = (text[at : at + length] for length in range(longest, 0, -1))
            key = next((key for key in fits if key in rules), text[at])
            made.append(rules.get(key, key))
            at += len(key)
        results.append("".join(made))
    return results


def _differing(rules: Rules, mapping: Component) -> list[str]:
    """The single characters that the components do not map as the rules do. UnsupportedError for sequences."""
    singles = [chr(code) for code in chain(range(1, 0xD800), range(0xE000, 0x110000))]
    sequences = [key for key in rules if len(key) > 1]
    component = json.dumps(mapping)
    # A zero character ends every cluster, and no rule has one.
    found = _core.normalize(component, "\0".join(singles + sequences), False)[0].split("\0")
    differing = [char for char, made in zip(singles, found, strict=False) if made != rules.get(char, char)]
    for key, made in zip(sequences, found[len(singles) :], strict=True):
        if made != rules[key] and not _is_newer(key, rules):
            raise UnsupportedError(f"the normalization rule that makes {rules[key]!r} of {key!r}")
    return differing


def _is_newer(key: str, rules: Rules) -> bool:
    """True for letters and marks that came after Unicode 9, composed."""
    return len(rules[key]) == 1 and any(0xA7F1 <= ord(char) <= 0xA7F4 or 0x10500 <= ord(char) < 0x1E100 for char in key)


def _following(rules: Rules) -> dict[str, set[str]]:
    """The characters with which a rule goes on, for each beginning of one."""
    following: dict[str, set[str]] = {}
    for key in rules:
        if len(key) > 1:
            if len(key) > 2 and key[:-1] not in rules:
                raise UnsupportedError(f"the normalization rule for {key!r}, without one for what it begins with")
            following.setdefault(key[:-1], set()).add(key[-1])
    return following


def _apart(rules: Rules, following: dict[str, set[str]], ends: Sequence[str]) -> str:
    """A pattern that matches, without taking anything, between characters which no rule takes together.

    Nor does a rule take the end of one of `ends` with what comes after it.
    """
    later = set().union(*following.values())
    if twofold := sorted(char for key in following if (char := key[0]) in later and ord(char) < 0x10000):
        raise UnsupportedError(f"normalization rules that begin with {twofold[0]!r}, and others that go on with it")
    single = {key for key in rules if len(key) == 1}
    alone = rf"(?<=[{_class(single | later)}\p{{M}}])(?=[{_MARKS}])"
    if not later:
        return rf"{alone}|(?<=\r)(?=\n)"
    together = [
        rf"(?=[{_class(next)}])(?<={''.join(f'[{_class(chars)}]' for chars in box)})"
        for next, starts in _grouped(following)
        for length in sorted({len(start) for start in starts})
        for box in _boxes([start for start in starts if len(start) == length])
    ]
    # What begins with such a character once it is normalized would be composed, too.
    seconds = f"[{_class(later | {key for key in single if rules[key][:1] in later})}]"
    ended = rf"(?<={'|'.join(map(literal, ends))})|" if ends else ""
    return rf"(?!\A)(?={seconds})(?:{ended}(?!{'|'.join(together)}))|(?!{seconds}){alone}|(?<=\r)(?=\n)"


def _grouped(following: dict[str, set[str]]) -> list[tuple[frozenset[str], list[str]]]:
    groups: dict[frozenset[str], list[str]] = {}
    for start, next in following.items():
        groups.setdefault(frozenset(next), []).append(start)
    return sorted(groups.items(), key=lambda group: min(group[1]))


def _boxes(texts: Iterable[str]) -> list[tuple[frozenset[str], ...]]:
    """Texts of one length as products of sets of characters."""
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
    """The inside of a character class."""
    spans: list[list[int]] = []
    for code in sorted(map(ord, chars)):
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"\\x{{{a:X}}}" if a == b else f"\\x{{{a:X}}}-\\x{{{b:X}}}" for a, b in spans)
