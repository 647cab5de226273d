"""Which suites a report has, and what they are in plain words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from ..compare.records import Mode
from ..compare.references import Vocabulary
from ..compare.suites import WINDOWS, WINDOWS_OF_PAIRS, Suite
from ..inputs.texts import CORPUS, UnknownVocabularyError, read_text, shared_directory, text_files

CORPUS_MEGABYTES = 2.0
"""Of each text of ours, unless more is asked for; the user's own files are taken whole."""

SHARE = 5
"""Of the generated strings, one in so many is compared in each of the other modes, too."""

WINDOW_SHARE = 20
"""And one in so many as windows: some have hundreds of them."""

LIBRARY = "python-library"


@dataclass(frozen=True)
class Group:
    """Suites that are one line of a report."""

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
) -> list[Group]:
    """The groups of a report. ValueError for a text that is not UTF-8, UnknownVocabularyError for one that is missing.

    Without `texts` (None) these are the shared corpus, or the sources of Python's library, written into `directory`.
    """
    groups = [*_generated(vocabulary, strings, tokens, seed)]
    kind, limit = "file", None if megabytes is None else int(megabytes * 1e6)
    if texts is None:
        kind, limit = "text", int((CORPUS_MEGABYTES if megabytes is None else megabytes) * 1e6)
        shared = shared_directory()
        has_corpus = shared is not None and (shared / "corpus").is_dir()
        texts = CORPUS if has_corpus else [_python_library(directory, limit)]
    groups += [_text(os.fspath(text), kind, limit) for text in texts]
    groups += _variants(vocabulary, strings, tokens, seed)
    return groups


def _generated(vocabulary: Vocabulary, strings: int, tokens: int, seed: int) -> list[Group]:
    groups = []
    if strings:
        about = "generated strings that are hard to tokenize, category by category, with the special tokens among them"
        groups.append(Group("strings", "generated", about, (Suite("strings", strings=strings, seed=seed),), seed))
    if tokens:
        about = "strings made of the vocabulary's own tokens: alone, joined, spaced, cut, doubled"
        groups.append(Group("tokens", "generated", about, (Suite("tokens", strings=tokens, seed=seed),), seed))
        if vocabulary.kind in ("tokenizers", "tiktoken"):
            about = "random bytes, UTF-8 or not, through our calls for bytes and back: the reference has no such calls"
            groups.append(Group("bytes", "generated", about, (Suite("bytes", strings=tokens, seed=seed),), seed))
    return groups


def _variants(vocabulary: Vocabulary, strings: int, tokens: int, seed: int) -> list[Group]:
    """Other modes, on a share of the generated strings."""
    if vocabulary.kind not in ("tokenizers", "transformers"):
        return []

    def some(share: int, paired: bool) -> list[Suite]:
        counts = {"strings": -(-strings // share), "tokens": -(-tokens // share)}
        return [Suite(name, count, seed, paired=paired) for name, count in counts.items() if count]

    def group(name: str, about: str, suites: list[Suite]) -> Group:
        return Group(name, "generated", about, tuple(suites), seed)

    def modes(suites: list[Suite], every: Sequence[Mode]) -> list[Suite]:
        return [
            replace(suite, mode=mode, every=len(every), first=i) for suite in suites for i, mode in enumerate(every)
        ]

    singles, paired = some(SHARE, False), some(SHARE, True)
    if not singles:
        return []
    plain, as_text = Mode(add_special_tokens=False), Mode(special_as_text=True)
    return [
        group("pairs", "pairs of such strings, with and without special tokens", [*paired, *modes(paired, (plain,))]),
        group("no special tokens", "such strings, with no special tokens around them", modes(singles, (plain,))),
        group("words", "such strings, given as lists of words", modes(singles, (Mode(words=True),))),
        group(
            "special tokens as text", "such strings, special tokens in them read as text", modes(singles, (as_text,))
        ),
        group(
            "windows",
            "such strings and pairs, truncated from both sides into overlapping windows, padded on both sides",
            [*modes(some(WINDOW_SHARE, False), WINDOWS), *modes(some(WINDOW_SHARE, True), WINDOWS_OF_PAIRS)],
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


def _python_library(directory: str, limit: int | None) -> str:
    """A few megabytes that are on every machine: the sources of Python's library."""
    path, size = os.path.join(directory, f"{LIBRARY}.txt"), 0
    with open(path, "wb") as out:
        for source in sorted(Path(os.__file__).parent.glob("*.py")):
            if limit is not None and size >= limit:
                break
            size += out.write(source.read_bytes().decode("utf-8", "replace").encode())
    return path
