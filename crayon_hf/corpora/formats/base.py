"""The interface of a format of token files: its dtype, its files, and a writer that leaves complete files or none."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora.formats.output import Output, remove_leftovers, workplace
from crayon_hf.errors import FormatError
from crayon_hf.util.files import sync_directory

if TYPE_CHECKING:
    from types import TracebackType


class Vocabulary(NamedTuple):
    """Facts about the tokenizer that formats need.

    docs/corpora.md has examples.
    """

    size: int
    """Tokens including added ones: ``Tokenizer.get_vocab_size()``, or ``len`` of a tokenizer of transformers."""
    largest_id: int
    """The largest id: at least size - 1, and more if the ids have gaps."""
    name: str = ""
    """The user's name for the tokenizer, which datatrove stores in its metadata."""
    eos_id: int | None = None


class ShardSettings(NamedTuple):
    """The settings of a shard's writer.

    docs/corpora.md has examples.
    """

    vocabulary: Vocabulary
    sequence_length: int | None = None
    """The length of packed sequences, or None to write documents separately."""


class WrittenFile(NamedTuple):
    """A file of a finished shard."""

    name: str
    """The path relative to the prefix's directory, with ``/``."""
    bytes: int


class Format(ABC):
    """A format of token files."""

    name: str
    """The name in `FORMATS` and for ``--format``."""
    suffix_empty = True
    """Whether texts without tokens get the end-of-text token, too, as the format's own tool does."""
    has_rows = False
    """Whether sequences may differ in length. Otherwise readers compute their places from the common length."""
    merged_file: str | None = None
    """The name of a file that describes all shards of a directory, if the format has one."""
    _writer: type[ShardWriter]

    def dtype(self, vocabulary: Vocabulary) -> np.dtype[Any]:
        """The dtype of the ids in the files, chosen like the format's own tool: int32, unless a format overrides it."""
        return np.dtype("<i4")

    def check(self, vocabulary: Vocabulary) -> None:
        """Raise FormatError if the dtype cannot hold all ids of the vocabulary. `open` calls this, too."""
        dtype = self.dtype(vocabulary)
        if vocabulary.largest_id > _largest(dtype):
            raise FormatError(
                f"{self.name}: the vocabulary has the id {vocabulary.largest_id}, but the format uses {dtype} for a "
                f"vocabulary of {vocabulary.size}, which ends at {_largest(dtype)}: choose another format"
            )

    @abstractmethod
    def files(self, prefix: str) -> list[str]:
        """Paths of a shard's files, or of its directory. The last one is the file that readers look for; it appears
        after the others."""

    def open(self, prefix: str, settings: ShardSettings) -> ShardWriter:
        """Open a writer for the shard `prefix`, in a directory that exists.

        Leftovers of killed processes for this shard are removed. A finished shard of this name stays until the new
        one replaces it.

        Raises:
            FormatError: As for `check`.
            MissingExtraError: A library is missing.
            OSError: A file cannot be created.
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

    def writes(self, name: str) -> bool:
        """Whether a file with the name of a shard's file is one that the format writes."""
        return True

    def merge(self, shards: Iterable[tuple[str, bytes]]) -> bytes:
        """Return the contents of the file `merged_file`, given each shard's name and its own file of that name."""
        raise NotImplementedError


class ShardWriter(ABC):
    """Writes one shard. As a context manager it calls `abort` after an error, or if `finish` was not called.

    Files get their final names in `finish`. Not thread-safe.
    """

    _longest = (1 << 63) - 1
    """The most tokens of one document."""

    def __init__(self, format: Format, prefix: str, settings: ShardSettings) -> None:
        self.prefix, self.dtype = prefix, format.dtype(settings.vocabulary)
        self.documents = self.tokens = 0
        """The numbers of documents (or packed sequences) and of tokens in all calls of `write` so far."""
        self._format, self._settings = format, settings
        self._stack = contextlib.ExitStack()
        """Closes the files, and removes those without a final name."""
        self._workplace = self._stack.enter_context(workplace(prefix))
        self._outputs: list[Output] = []
        self._state = "open"

    def write(
        self,
        ids: npt.NDArray[Any],
        row_splits: npt.NDArray[np.int64],
        pieces: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """Append documents: document i is ``ids[row_splits[i] : row_splits[i + 1]]``.

        Args:
            ids: Integers, one axis; those of `dtype` are not converted. The caller may reuse all arrays afterwards.
            row_splits: Edges of the documents as int64, ascending, one more than documents. The first may be above 0.
            pieces: For packed sequences, the offsets in `ids` of their pieces' edges, as int64, strictly ascending.
                They include all `row_splits`, which then separate sequences. For documents, None.

        Raises:
            FormatError: The dtype cannot hold an id, or a document is too long for the format. Nothing was written.
            OSError: Writing failed; the message names the file. The writer can only be aborted.
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
                f"more than the limit of {self._longest} of {self._format.name}: cut it, or choose another format"
            )
        kept = self._fitting(ids[start:end])
        self._state = "failed"
        self._write(kept, lengths, lengths if pieces is None else np.diff(pieces))
        self._state = "open"
        self.documents += len(lengths)
        self.tokens += end - start

    def finish(self) -> list[WrittenFile]:
        """Write the parts that follow all documents, sync the files and give them their final names.

        Returns the files in the order of `Format.files`.

        Raises:
            OSError: The shard is not finished. The writer can only be aborted.
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
        """Remove the files, unless the shard is finished. Idempotent."""
        if self._state in ("open", "failed"):
            self._state = "aborted"
            self._stack.close()

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.abort()

    @abstractmethod
    def _begin(self) -> None:
        """Create the files of the shard."""

    @abstractmethod
    def _write(self, ids: npt.NDArray[Any], lengths: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64]) -> None:
        """Write contiguous ids of `dtype`. `lengths` has the tokens of each document, or of each packed sequence.
        `pieces` has the tokens of each piece in them."""

    @abstractmethod
    def _end(self) -> None:
        """Write the parts of the files that follow all documents."""

    def _place(self) -> None:
        """Sync the files and give them their final names."""
        for output in self._outputs:
            output.sync()
        # An old index must never be beside new tokens, unless an attempt at the same shard has written the same bytes.
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
            for path in reversed(new):  # another attempt at the same shard may rely on files that existed
                with contextlib.suppress(OSError):
                    os.unlink(path)
            raise
        sync_directory(directory)

    def _output(self, path: str) -> Output:
        """Create a file of the shard. The last one created is the one that readers look for."""
        self._outputs.append(self._stack.enter_context(contextlib.closing(Output(path, self._workplace))))
        return self._outputs[-1]

    def _must_be_open(self) -> None:
        if self._state == "failed":
            raise ValueError(f"{self.prefix}: an earlier write failed: abort, and write the shard again")
        if self._state != "open":
            raise ValueError(f"{self.prefix}: the writer is {self._state}")

    def _fitting(self, ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if ids.dtype != self.dtype and len(ids):
            low, high = int(ids.min()), int(ids.max())
            if low < 0 or high > _largest(self.dtype):
                raise FormatError(
                    f"{self.prefix}: the id {low if low < 0 else high} does not fit into {self.dtype}, "
                    f"which {self._format.name} uses for this vocabulary"
                )
        return np.ascontiguousarray(ids, self.dtype)


def _largest(dtype: np.dtype[Any]) -> int:
    return int(np.iinfo(dtype).max)
