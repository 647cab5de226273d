"""Compares vocabularies in one pass over all texts: every tokenizer encodes each piece of text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from crayon_hf.comparison.kinds import COLUMN, kind_of
from crayon_hf.comparison.model import Comparison, Figures, Group, Measured
from crayon_hf.comparison.texts import Matrix, Seen, look_at, pieces_of, reads_column
from crayon_hf.comparison.token_meter import TokenMeter
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

    All text is read once, about a megabyte at a time. Every tokenizer encodes each piece twice: to ids alone, which is
    timed, and with offsets, to count tokens by script. Special tokens around texts are not added. Memory does not
    depend on the size of the files, unless the engine does not support a tokenizer: then each text is held whole.

    Args:
        tokenizers: Names or paths, or a mapping of names to names, paths or open tokenizers.
        sources: Files, directories, patterns or addresses of fsspec. In directories, hidden files, binary files and
            files that git would ignore are skipped.
        column: The column with the texts. Default: "text" for JSON lines, Parquet and Arrow; CSV, TSV and JSON files
            are texts themselves.
        format: The format of all files, as in ``tokenize_corpus``. Default: by the suffix of each name.
        ignore: Whether to skip files in directories that ``.gitignore`` names.
        progress: Called after each piece with the name of its file, the bytes of all files read so far, and the
            total bytes of all files, both as stored.

    Returns:
        A `Comparison`: groups of text with `Figures` of each tokenizer.

    Raises:
        ValueError: No tokenizer is given, or `format` is unknown.
        TypeError: A tokenizer is neither a name, a path nor a `Tokenizer`.
        CorpusError: A source does not exist, matches no file, or cannot be read.
        InvalidUtf8Error: A named file is not UTF-8, or has a zero among its first 8,000 bytes.

    >>> import crayon_hf, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = pathlib.Path(place, "a.txt").write_text("Ask, and it shall be given you.")
    ...     found = crayon_hf.compare(["lite", "science"], place)
    >>> found.total.words, found.total.figures["lite"].tokens
    (7, 9)
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format is {format!r}, expected one of {', '.join(FORMATS)}")
    meters = [TokenMeter(name, tokenizer) for name, tokenizer in _opened(tokenizers)]
    files = list(_files(sources, format, ignore))
    total_bytes = sum(max(file.size, 0) for file, _ in files)
    found, passed_over, before = list[_Counted](), list[str](), 0
    for file, is_found in files:

        def told(done: int, name: str = file.address, before: int = before) -> None:
            if progress is not None:
                progress(name, before + done, total_bytes)

        try:
            found.append(_measured(file, meters, format, column, told))
        except InvalidUtf8Error:
            if not is_found:
                raise
            passed_over.append(file.address)
            for meter in meters:
                meter.drop_file()
        before += max(file.size, 0)
    return _comparison(meters, found, passed_over)


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
    """Yield each file, and whether it was found in a directory."""
    for source in [sources] if isinstance(sources, (str, os.PathLike)) else sources:
        name = os.fspath(source)
        if os.path.isdir(name):
            yield from ((file, True) for file in find_tree(name, ignore))
        else:
            yield from ((file, False) for file in find_inputs([name], format))


class _Counted:
    """The counts of a file, or of several files together: of the text, and of each tokenizer's tokens, by script."""

    def __init__(self, name: str, kind: str, text: Matrix, tokens: list[Matrix]) -> None:
        self.name, self.kind, self.text, self.tokens = name, kind, text, tokens


def _measured(
    file: InputFile,
    meters: list[TokenMeter],
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
        turn = number % len(meters)
        for meter in (*meters[turn:], *meters[:turn]):
            meter.time(piece)
        for meter in meters:
            meter.count(piece, look.scripts)
        told(piece.done)
    kind = COLUMN if reads_column(file, format, column) else kind_of(file.address)
    return _Counted(file.address, kind, text, [meter.take_file() for meter in meters])


def _comparison(meters: list[TokenMeter], files: list[_Counted], passed_over: list[str]) -> Comparison:
    names = [meter.name for meter in meters]
    total = _sum("all", files, len(names))
    kinds = [_sum(kind, [file for file in files if file.kind == kind], len(names)) for kind in _in_order(files)]
    places = np.flatnonzero(total.text[0] + sum(each[0] for each in total.tokens)).tolist()
    scripts = [_group(NAMES[at], total.text[:, at], [each[:, at] for each in total.tokens], names) for at in places]
    return Comparison(
        tokenizers=tuple(_tokenizer(meter, int(total.text[0].sum())) for meter in meters),
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
    """Make a `Group` from the counts of a file, a kind of text, a script, or all text.

    Args:
        name: The name of the group.
        text: The numbers of its bytes, characters and words.
        tokens: For each tokenizer, the numbers of its tokens, single-byte tokens and unknown tokens.
        names: The names of the tokenizers.
    """
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


def _tokenizer(meter: TokenMeter, size: int) -> Measured:
    megabytes = size / 1e6
    return Measured(
        name=meter.name,
        vocabulary=meter.vocabulary,
        never_used=meter.never_used,
        never_used_share=meter.never_used / max(meter.vocabulary, 1),
        seconds=meter.seconds,
        processor_seconds=meter.processor_seconds,
        megabytes_per_second=_ratio(megabytes, meter.seconds) if size else None,
        megabytes_per_processor_second=_ratio(megabytes, meter.processor_seconds) if size else None,
    )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
