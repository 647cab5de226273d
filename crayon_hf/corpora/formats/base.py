"""What every format of token files is: which dtype, which files, and a writer that leaves whole files or none."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats.output import Output, Workplace, remove_leftovers
from crayon_hf.errors import FormatError
from crayon_hf.util.files import sync_directory

if TYPE_CHECKING:
    from types import TracebackType


class Vocabulary(NamedTuple):
    """What a format asks about the tokenizer.

    docs/corpora.md has examples.
    """

    size: int
    """Tokens, added ones too: ``Tokenizer.get_vocab_size()`` of tokenizers, ``len`` of a tokenizer of transformers."""
    largest_id: int
    """Not below size - 1; above where the ids have holes."""
    name: str = ""
    """As the user calls it: datatrove writes it into its metadata."""
    eos_id: int | None = None


class ShardSettings(NamedTuple):
    """What writing a shard depends on.

    docs/corpora.md has examples.
    """

    vocabulary: Vocabulary
    sequence_length: int | None = None
    """Documents are packed into sequences of so many tokens. None: each is written by itself."""


class WrittenFile(NamedTuple):
    """A file of a finished shard."""

    name: str
    """Relative to the directory that the prefix is in, with ``/``."""
    bytes: int


class Format(ABC):
    """One format of token files."""

    name: str
    """As `FORMATS` and ``--format`` have it."""
    suffix_empty = True
    """Whether a text without tokens gets the tokens that end a document, as the format's own tool does it."""
    has_rows = False
    """Whether sequences may have different lengths: readers find each by itself. Else they count tokens."""
    merged_files: tuple[str, ...] = ()
    """Names of what `merge` writes."""
    _writer: type[ShardWriter]

    @abstractmethod
    def dtype(self, vocabulary: Vocabulary) -> np.dtype[Any]:
        """Of the ids in the files, as the format's own tool decides it for a vocabulary."""

    def check(self, vocabulary: Vocabulary) -> None:
        """FormatError where the dtype does not hold an id of the vocabulary; `open` does this, too."""
        dtype = self.dtype(vocabulary)
        if vocabulary.largest_id > _largest(dtype):
            raise FormatError(
                f"{self.name}: the vocabulary has the id {vocabulary.largest_id}, and {dtype}, which the format takes "
                f"for a vocabulary of {vocabulary.size}, holds none above {_largest(dtype)}: choose another format"
            )

    @abstractmethod
    def files(self, prefix: str) -> list[str]:
        """Paths of a shard's files (a directory where the format is one). The last is the one that readers look for:
        it is there only when all the others are."""

    def open(self, prefix: str, settings: ShardSettings) -> ShardWriter:
        """A writer of the shard `prefix`, in a directory that exists.

        What killed processes left of this shard is removed; a finished shard of that name stays until the new one is.

        Raises:
            FormatError: As `check`, or a library is missing.
            OSError: A file cannot be made.
        """
        self.check(settings.vocabulary)
        directory, name = os.path.split(prefix)
        remove_leftovers(directory or ".", name)
        writer = self._writer(self, prefix, settings)
        try:
            writer._begin()
        except BaseException:
            writer.abort()
            raise
        return writer

    def written(self, prefix: str, is_there: Callable[[str], bool]) -> list[str]:
        """Paths of a shard's files that are there (in the directory where the format is one), the one that readers
        look for first."""
        return [path for path in reversed(self.files(prefix)) if is_there(path)]

    def merge(self, directory: str, shards: Sequence[str]) -> list[WrittenFile]:
        """Write what the format has over all shards of a directory, in this order (names of finished shards in it);
        most have nothing."""
        return []


class ShardWriter(ABC):
    """Writes one shard. As a context: an error, or leaving without `finish`, is `abort`.

    Nothing has a final name before `finish`. Not for use by several threads at once.
    """

    _longest = (1 << 63) - 1
    """Tokens of one document."""

    def __init__(self, format: Format, prefix: str, settings: ShardSettings) -> None:
        self.prefix, self.dtype = prefix, format.dtype(settings.vocabulary)
        self.documents = self.tokens = 0
        """Written so far."""
        self._format, self._settings = format, settings
        self._stack = contextlib.ExitStack()
        """What is closed in the end; with it goes all but what has its name."""
        self._workplace = self._stack.enter_context(Workplace(prefix))
        self._outputs: list[Output] = []
        self._state = "open"

    def write(
        self,
        ids: npt.NDArray[Any],
        row_splits: npt.NDArray[np.int64],
        pieces: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Documents: document i is ``ids[row_splits[i] : row_splits[i + 1]]``.

        `ids`: integers, one axis; those of `dtype` are written as they are. `row_splits`: int64, ascending, one more
        than there are documents; it may begin above 0, so a part of a batch needs no copy. What the caller does with
        the arrays afterwards makes no difference. `pieces`: with sequences, which are the documents then, where each
        piece of a real one begins in `ids`, and where the last one ends: int64, ascending without repetition, with
        all of `row_splits` in it. Where a format is not packed, it is None.

        Raises:
            FormatError: An id that the dtype does not hold, a document longer than the format has room for.
                Nothing of the call was written.
            OSError: Writing failed; the name of the file is in it. Only `abort` is left to do.
        """
        self._must_be_open()
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise ValueError(f"ids has {ids.ndim} axes and is {ids.dtype}, expected one axis of integers")
        if row_splits.ndim != 1 or row_splits.dtype != np.int64 or len(row_splits) == 0:
            raise ValueError(f"row_splits is {row_splits.dtype} of shape {row_splits.shape}, expected int64, one axis")
        lengths = np.diff(row_splits)
        start, end = int(row_splits[0]), int(row_splits[-1])
        if not 0 <= start <= end <= len(ids) or (len(lengths) and int(lengths.min()) < 0):
            raise ValueError(f"row_splits are not ascending, or not within the {len(ids)} ids")
        if len(lengths) and int(lengths.max()) > self._longest:
            number = self.documents + int(lengths.argmax()) + 1
            raise FormatError(
                f"{self.prefix}: document {number} has {int(lengths.max())} tokens, "
                f"more than the {self._longest} of {self._format.name}: cut it, or choose another format"
            )
        kept = self._fitting(ids[start:end])
        self._state = "failed"
        self._write(kept, lengths, lengths if pieces is None else np.diff(pieces))
        self._state = "open"
        self.documents += len(lengths)
        self.tokens += end - start

    def finish(self) -> list[WrittenFile]:
        """Write what is left, bring all to the disk and give the files their names; these, in the order of `files`.

        Raises:
            OSError: The shard is not finished; only `abort` is left to do.
        """
        self._must_be_open()
        self._state = "failed"
        self._end()
        self._place()
        self._stack.close()
        self._state = "finished"
        beside = os.path.dirname(self.prefix)
        return [
            WrittenFile(os.path.relpath(output.path, beside or ".").replace(os.sep, "/"), output.size)
            for output in self._outputs
        ]

    def abort(self) -> None:
        """Remove all that was written, unless the shard is finished. May be called again."""
        if self._state in ("open", "failed"):
            self._state = "aborted"
            self._stack.close()

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.abort()

    @abstractmethod
    def _begin(self) -> None:
        """Make the files."""

    @abstractmethod
    def _write(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64]) -> None:
        """Ids of `dtype`, contiguous; lengths of the documents (of sequences, where they are packed) and of the pieces
        in them, in tokens."""

    @abstractmethod
    def _end(self) -> None:
        """Write what stands after all documents."""

    def _place(self) -> None:
        """Bring all to the disk and give the files their names."""
        for output in self._outputs:
            output.sync()
        # An older index must never be beside new tokens. Another attempt at the same shard has the same bytes.
        index, directory = self._outputs[-1], os.path.dirname(self._outputs[-1].path) or "."
        is_again = all(output.is_there_already() for output in reversed(self._outputs))
        if len(self._outputs) > 1 and os.path.lexists(index.path) and not is_again:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(index.path)
            sync_directory(directory)
        new = [output.path for output in self._outputs if not os.path.lexists(output.path)]
        try:
            for output in self._outputs:
                output.place()
        except BaseException:
            for path in reversed(new):  # another attempt at the same shard may count on a file that was there
                with contextlib.suppress(OSError):
                    os.unlink(path)
            raise
        sync_directory(directory)

    def _output(self, path: str) -> Output:
        """A new file of the shard; the last one made is the one that readers look for."""
        self._outputs.append(self._stack.enter_context(contextlib.closing(Output(path, self._workplace.path))))
        return self._outputs[-1]

    def _must_be_open(self) -> None:
        if self._state == "failed":
            raise ValueError(f"{self.prefix}: writing failed before; abort, and write the shard again")
        if self._state != "open":
            raise ValueError(f"{self.prefix}: the writer is {self._state}")

    def _fitting(self, ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if ids.dtype != self.dtype and len(ids):
            low, high = int(ids.min()), int(ids.max())
            if low < 0 or high > _largest(self.dtype):
                raise FormatError(
                    f"{self.prefix}: the id {low if low < 0 else high} is not one that {self.dtype} holds, "
                    f"which {self._format.name} takes for this vocabulary"
                )
        return np.ascontiguousarray(ids, self.dtype)


def _largest(dtype: np.dtype[Any]) -> int:
    return int(np.iinfo(dtype).max)


def unsigned(vocabulary: Vocabulary) -> np.dtype[Any]:
    """uint16 where it holds every id, else uint32: for formats whose readers are told the dtype."""
    return np.dtype("<u2" if vocabulary.largest_id <= 0xFFFF else "<u4")
