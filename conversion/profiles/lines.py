"""Choose the lines of text that stay in the corpus."""

from __future__ import annotations

import re

from conversion.profiles.excluded import key
from conversion.profiles.sources import Source

LONG_LINE = 40  # a line of this many characters is kept once in the whole corpus, and never if excluded
SHORT_LINE_LIMIT = 6  # how often a shorter line of prose is kept in one language: more frequent ones are menus
LONGEST_LINE = 4000

_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{64}|[0-9a-fA-F]{33}|(?:0[xX][0-9a-fA-F]+,\s*){4}")
_ENGLISH = {
    "the", "and", "with", "this", "that", "you", "are", "from", "which", "your", "will", "not", "when", "should",
}  # fmt: skip
_WORD = re.compile(r"[a-z]+")
_NOT_LETTERS = re.compile(r"[\W\d_]+")


def _is_english(text: str) -> bool:
    """Whether a long line of a text in another Latin-script language is English, that is, untranslated."""
    words = _WORD.findall(text.lower())
    found = sum(w in _ENGLISH for w in words)
    return found >= 2 and found * 8 >= len(words)


def worth_keeping(line: str, source: Source, seen: set[bytes]) -> bool:
    """Whether a line is text of its source's kind and, if it is long, new in this source.

    Over-long lines, blobs, tables of numbers and untranslated lines are not worth keeping.
    """
    bare = line.strip()
    size = len(bare)
    script = source.script
    if size < LONG_LINE:
        return not (script and size > 8 and bare.isascii())
    if size > LONGEST_LINE or _BLOB.search(bare):
        return False
    # `re` does not count Indic and Thai vowel marks as letters: lines in their own script are judged by it alone.
    if script:
        if source.form != "dict" and len(re.findall(f"[{script}]", bare)) * 4 < size:
            return False
    else:
        letters = 0.5 if source.kind in ("prose", "language") else 0.25
        if len(_NOT_LETTERS.sub("", bare)) < size * letters or (source.kind == "language" and _is_english(bare)):
            return False
    hashed = key(bare)
    if hashed in seen:
        return False
    seen.add(hashed)
    return True


class Lines:
    """Keeps a long line once in the whole corpus, a short line a few times in a language, and no excluded line."""

    def __init__(self, excluded: set[bytes]) -> None:
        self.excluded = excluded
        self.hits: set[bytes] = set()
        self.seen: set[bytes] = set()
        self.dropped = {"excluded": 0, "repeated": 0}
        self.short: dict[tuple[str, str], int] = {}

    def start(self, source: Source) -> None:
        """Set the source of the lines that follow."""
        self.source = source
        self.limited = source.kind in ("prose", "language")
        self.excluded_here = 0

    def keep(self, line: str) -> bool:
        bare = line.strip()
        if len(bare) >= LONG_LINE:
            hashed = key(bare)
            if hashed in self.excluded:
                self.hits.add(hashed)
                self.excluded_here += 1
                self.dropped["excluded"] += 1
                return False
            if hashed in self.seen:
                self.dropped["repeated"] += 1
                return False
            self.seen.add(hashed)
        elif self.limited and bare:
            entry = (self.source.group, bare)
            count = self.short[entry] = self.short.get(entry, 0) + 1
            if count > SHORT_LINE_LIMIT:
                self.dropped["repeated"] += 1
                return False
        return True
