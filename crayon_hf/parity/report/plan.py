"""Chooses the suites (sets of inputs) that a report compares, and describes them in plain words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..compare.references import Vocabulary
from ..compare.suites import WITH_BYTES, WITH_VARIANTS, Suite, variant
from ..inputs.texts import CORPUS, UnknownVocabularyError, default_texts, read_text, text_files

CORPUS_MEGABYTES = 2.0
"""The default size of each shared text; the user's own files are read whole."""

SHARE = 5
"""One in this number of generated strings is also compared in each of the other modes."""

WINDOW_SHARE = 20
"""One in this number of strings is also compared truncated or padded: some strings then have hundreds of windows."""


@dataclass(frozen=True)
class Group:
    """Suites that share one line of a report."""

    name: str
    kind: str
    about: str
    suites: tuple[Suite, ...]
    seed: int | None = None
    digest: str | None = None


def make_groups(
    vocabulary: Vocabulary,
    strings: int,
    tokens: int,
    seed: int,
    texts: Sequence[str | os.PathLike[str]] | None,
    megabytes: float | None,
    directory: str,
    is_everything: bool = False,
) -> list[Group]:
    """Return the groups of a report. Raise ValueError for a text that is not UTF-8, UnknownVocabularyError for a
    missing one.

    If `texts` is None, the texts are the shared corpus. If that is missing, they are the sources of Python's library,
    written into `directory`. The modes besides the default one compare a share of the generated strings, but with
    `is_everything` all strings and texts.
    """
    groups = [*_generated(vocabulary, strings, tokens, seed)]
    kind, limit = "file", None if megabytes is None else int(megabytes * 1e6)
    if texts is None:
        kind, limit = "text", int((CORPUS_MEGABYTES if megabytes is None else megabytes) * 1e6)
        texts = default_texts(directory, limit)
    groups += [_text(os.fspath(text), kind, limit) for text in texts]
    if vocabulary.kind not in WITH_VARIANTS:
        return groups
    if is_everything:
        plain = [suite for group in groups for suite in group.suites if suite.source != "bytes"]
        return groups + _variants(seed, plain, plain)

    def some(share: int) -> list[Suite]:
        counts = {"strings": -(-strings // share), "tokens": -(-tokens // share)}
        return [Suite(name, count, seed) for name, count in counts.items() if count]

    return groups + _variants(seed, some(SHARE), some(WINDOW_SHARE))


def _generated(vocabulary: Vocabulary, strings: int, tokens: int, seed: int) -> list[Group]:
    groups = []
    if strings:
        about = "generated strings that are hard to tokenize, category by category, with the special tokens among them"
        groups.append(Group("strings", "generated", about, (Suite("strings", strings=strings, seed=seed),), seed))
    if tokens:
        about = "strings made of the vocabulary's own tokens: alone, joined, spaced, cut, doubled"
        groups.append(Group("tokens", "generated", about, (Suite("tokens", strings=tokens, seed=seed),), seed))
        if vocabulary.kind in WITH_BYTES:
            about = "random bytes, UTF-8 or not, through our calls for bytes and back: the reference has no such calls"
            groups.append(Group("bytes", "generated", about, (Suite("bytes", strings=tokens, seed=seed),), seed))
    return groups


def _variants(seed: int, singles: list[Suite], of_windows: list[Suite]) -> list[Group]:
    """Return the groups of suites in all modes besides the default."""
    if not singles:
        return []

    def group(name: str, about: str, suites: list[Suite]) -> Group:
        return Group(name, "generated", about, tuple(suites), seed)

    return [
        group("pairs", "pairs of such strings, with and without special tokens", variant("pairs", singles)),
        group("no special tokens", "such strings, with no special tokens around them", variant("no_special", singles)),
        group("words", "such strings, given as lists of words", variant("words", singles)),
        group(
            "special tokens as text",
            "such strings, special tokens in them read as text",
            variant("as_text", singles),
        ),
        group(
            "windows",
            "such strings and pairs, truncated from both sides into overlapping windows, padded on both sides",
            variant("windows", of_windows),
        ),
    ]


def _text(spec: str, kind: str, limit: int | None) -> Group:
    files = text_files(spec)
    digest, size = sha256(), 0
    for path in files.values():
        data = read_text(path, limit)
        digest.update(data)
        size += len(data)
    if not size:
        raise UnknownVocabularyError(f"no text in {spec!r}: it is empty")
    is_ours, name = spec in CORPUS and not Path(spec).exists(), Path(spec).name.split(".")[0] or spec
    if kind == "text":
        about = f"the shared text {spec!r}" if is_ours else "the sources of Python's library"
    else:
        about = f"{len(files)} files of {spec}" if Path(spec).is_dir() else f"the file {spec}"
    about += f", {size / 1e6:.1f} MB in documents of at most 2 KB"
    suite = Suite(spec if is_ours else os.path.abspath(spec), limit=limit, title=name)
    return Group(name, kind, about, (suite,), digest=digest.hexdigest())
