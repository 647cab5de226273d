"""Comparing vocabularies: one pass over all texts, in which every tokenizer gets each piece of text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from crayon_hf.comparison.contestant import Contestant
from crayon_hf.comparison.kinds import COLUMN, kind_of
from crayon_hf.comparison.model import Comparison, Figures, Group, Measured
from crayon_hf.comparison.texts import Matrix, Seen, look_at, pieces_of, reads_column
from crayon_hf.errors import InvalidUtf8Error
from crayon_hf.parity.speed.machine import cpu_model
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.documents import FORMATS, InputFile
from crayon_hf.text_readers.trees import find_tree
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.tokenizer.resolve import open_tokenizer
from crayon_hf.util import validation
from crayon_hf.util.scripts import NAMES

Sources = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def compare(
    tokenizers: Sequence[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str] | Tokenizer],
    sources: Sources,
    *,
    column: str | None = None,
    format: str | None = None,
    ignore: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> Comparison:
    """Compare how vocabularies cut texts into tokens, by file, by script and by kind of text.

    All text is read once, some megabytes at a time, and every tokenizer encodes each piece as it comes: to ids alone,
    which is timed, and again with the places of the tokens, which are counted. Special tokens around texts are not
    added. Memory does not grow with the files, but for those of tokenizers that the engine does not support.

    Args:
        tokenizers: Names or paths, or a mapping of names to names, paths or open tokenizers.
        sources: Files, directories, patterns or addresses of fsspec. In directories hidden files, binary files and
            those that git would ignore are left out.
        column: The column that has the texts. Without it, JSON lines, Parquet and Arrow are read by the column
            "text", and CSV, TSV and JSON are texts themselves.
        format: The format of all files, as ``tokenize_corpus`` takes it. Default: what the endings of names say.
        ignore: Whether files that ``.gitignore`` names are left out.
        progress: Called with the name of a file, how many bytes of all files are done, and how many there are.

    Returns:
        A `Comparison`: groups of text with `Figures` of each tokenizer.

    Raises:
        ValueError: No tokenizer is given, or an unknown format.
        CorpusError: A source is not there, names no file, or cannot be read.
        InvalidUtf8Error: A file that is named is not UTF-8.

    >>> import crayon_hf, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = pathlib.Path(place, "a.txt").write_text("Ask, and it shall be given you.")
    ...     found = crayon_hf.compare(["lite", "science"], place)
    >>> found.total.words, found.total.figures["lite"].tokens
    (7, 9)
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format is {format!r}, expected one of {', '.join(FORMATS)}")
    contestants = [Contestant(name, tokenizer) for name, tokenizer in _opened(tokenizers)]
    files = list(_files(sources, format, ignore))
    total_bytes = sum(max(file.size, 0) for file, _ in files)
    found, passed_over, before = list[_Counted](), list[str](), 0
    for file, is_found in files:

        def told(done: int, name: str = file.address, before: int = before) -> None:
            if progress is not None:
                progress(name, before + done, total_bytes)

        try:
            found.append(_measured(file, contestants, format, column, told))
        except InvalidUtf8Error:
            if not is_found:
                raise
            passed_over.append(file.address)
            for contestant in contestants:
                contestant.drop_file()
        before += max(file.size, 0)
    return _comparison(contestants, found, passed_over)


def _opened(
    tokenizers: Sequence[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str] | Tokenizer],
) -> Iterator[tuple[str, Tokenizer]]:
    if isinstance(tokenizers, (str, os.PathLike)):
        tokenizers = [tokenizers]
    named = tokenizers if isinstance(tokenizers, Mapping) else {os.fspath(each): each for each in tokenizers}
    if not named:
        raise ValueError("no tokenizer is given")
    for name, tokenizer in named.items():
        if isinstance(tokenizer, Tokenizer):
            yield name, tokenizer
        elif isinstance(tokenizer, (str, os.PathLike)):
            yield name, open_tokenizer(tokenizer)
        else:
            raise TypeError(
                f"tokenizer {name!r} is {validation.kind(tokenizer)}, expected a name, a path or a Tokenizer"
            )


def _files(sources: Sources, format: str | None, ignore: bool) -> Iterator[tuple[InputFile, bool]]:
    """The files, and whether each was found in a directory."""
    for source in [sources] if isinstance(sources, (str, os.PathLike)) else sources:
        name = os.fspath(source)
        if os.path.isdir(name):
            yield from ((file, True) for file in find_tree(name, ignore))
        else:
            yield from ((file, False) for file in find_inputs([name], format))


class _Counted:
    """A file: its name, its kind, and what was counted of its text and for each tokenizer."""

    def __init__(self, name: str, kind: str, text: Matrix, tokens: list[Matrix]) -> None:
        self.name, self.kind, self.text, self.tokens = name, kind, text, tokens


def _measured(
    file: InputFile,
    contestants: list[Contestant],
    format: str | None,
    column: str | None,
    told: Callable[[int], None],
) -> _Counted:
    text = np.zeros((3, len(NAMES)), np.int64)
    seen = Seen()
    for number, piece in enumerate(pieces_of(file, format, column)):
        look = look_at(piece, seen)
        text += look.amounts
        seen = look.end
        turn = number % len(contestants)
        for contestant in (*contestants[turn:], *contestants[:turn]):
            contestant.time(piece)
        for contestant in contestants:
            contestant.count(piece, look.scripts)
        told(piece.done)
    kind = COLUMN if reads_column(file, format, column) else kind_of(file.address)
    return _Counted(file.address, kind, text, [contestant.take_file() for contestant in contestants])


def _comparison(contestants: list[Contestant], files: list[_Counted], passed_over: list[str]) -> Comparison:
    names = [contestant.name for contestant in contestants]
    total = _sum("all", files, len(names))
    kinds = [_sum(kind, [file for file in files if file.kind == kind], len(names)) for kind in _in_order(files)]
    places = np.flatnonzero(total.text[0] + sum(each[0] for each in total.tokens)).tolist()
    scripts = [_group(NAMES[at], total.text[:, at], [each[:, at] for each in total.tokens], names) for at in places]
    return Comparison(
        tokenizers=tuple(_tokenizer(contestant, int(total.text[0].sum())) for contestant in contestants),
        total=_group_of(total, names),
        kinds=tuple(sorted((_group_of(each, names) for each in kinds), key=_size)),
        scripts=tuple(sorted(scripts, key=_size)),
        files=tuple(_group_of(file, names) for file in files),
        passed_over=tuple(passed_over),
        machine=cpu_model(),
    )


def _in_order(files: list[_Counted]) -> Iterable[str]:
    return dict.fromkeys(file.kind for file in files)


def _size(group: Group) -> int:
    return -group.bytes


def _sum(name: str, files: list[_Counted], tokenizers: int) -> _Counted:
    zero = np.zeros((3, len(NAMES)), np.int64)
    tokens = [sum((file.tokens[place] for file in files), zero) for place in range(tokenizers)]
    return _Counted(name, name, sum((file.text for file in files), zero), tokens)


def _group_of(counted: _Counted, names: list[str]) -> Group:
    return _group(counted.name, counted.text.sum(axis=1), [each.sum(axis=1) for each in counted.tokens], names)


def _group(name: str, text: Matrix, tokens: list[Matrix], names: list[str]) -> Group:
    """A group of its bytes, characters and words, and each tokenizer's tokens, single bytes and unknown tokens."""
    size, characters, words = (int(number) for number in text)
    figures = {}
    for of, (count, single, unknown) in zip(names, (each.tolist() for each in tokens), strict=True):
        figures[of] = Figures(
            tokens=count,
            byte_tokens=single,
            unknown_tokens=unknown,
            bytes_per_token=_ratio(size, count),
            characters_per_token=_ratio(characters, count),
            tokens_per_word=_ratio(count, words),
            byte_token_share=_ratio(single, count),
        )
    return Group(name, size, characters, words, figures)


def _tokenizer(contestant: Contestant, size: int) -> Measured:
    megabytes = size / 1e6
    return Measured(
        name=contestant.name,
        vocabulary=contestant.vocabulary,
        never_used=contestant.never_used,
        never_used_share=contestant.never_used / max(contestant.vocabulary, 1),
        seconds=contestant.seconds,
        processor_seconds=contestant.processor_seconds,
        megabytes_per_second=_ratio(megabytes, contestant.seconds) if size else None,
        megabytes_per_processor_second=_ratio(megabytes, contestant.processor_seconds) if size else None,
    )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
