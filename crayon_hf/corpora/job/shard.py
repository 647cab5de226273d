"""`tokenize_shard`: tokenize some input files into the token files of one output name."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora import storage
from crayon_hf.corpora.job import choosing
from crayon_hf.corpora.job.documents import Batch, Encoded, Shuffler, bundles, encoded, read_batches
from crayon_hf.corpora.job.encoder import Encoding, Work, job_tokenizer, plan_encoding
from crayon_hf.corpora.job.failures import Failure, failure_of
from crayon_hf.corpora.job.job_spec import Task, continued, differences, gone, refuse, request_of
from crayon_hf.corpora.job.options import BATCH_BYTES, Options, ShardOptions, positive
from crayon_hf.corpora.job.packing import packed
from crayon_hf.corpora.job.prefetch import overlap
from crayon_hf.corpora.job.shards import Shards
from crayon_hf.corpora.job.state import (
    JOB,
    PLACE,
    Counts,
    State,
    load,
    own_files,
    refuse_taken,
    remove_files,
    shard_files,
)
from crayon_hf.corpora.storage import stopping
from crayon_hf.errors import JobError, StoreError
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.text_readers.files import check_files
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util import validation

if TYPE_CHECKING:
    from typing_extensions import Unpack


_as_json = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make an encoder for each record

Progress = Callable[[Counts], None]
"""Called after every batch with the counts so far."""


class ShardSummary(NamedTuple):
    """The result of `tokenize_shard`."""

    output: str
    shards: tuple[dict[str, Any], ...]
    """For each shard its ``name``, ``documents``, ``tokens`` and ``files``; for each file its ``name`` and ``bytes``.
    With packing, ``sequences`` and ``padding`` (tokens) replace ``documents``."""
    counts: Counts
    bad_records_file: str | None
    """The list of bad records: JSON lines of ``file``, ``line`` (``row``, ``document``) and ``reason``."""
    is_hashed: bool = False
    """Whether this was the first of two passes, which writes no token files."""

    def as_json(self) -> dict[str, Any]:
        """The summary as values for `json.dumps`."""
        return {**self._asdict(), "shards": list(self.shards), "counts": self.counts._asdict()}


def tokenize_shard(
    input: str | os.PathLike[str] | InputFile | Sequence[str | os.PathLike[str] | InputFile],
    output: str | os.PathLike[str],
    format: str = "megatron",
    *,
    tokenizer: str | Tokenizer,
    batch_bytes: int = BATCH_BYTES,
    threads: int = 0,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Unpack[ShardOptions],
) -> ShardSummary:
    """Tokenize the documents of some files, in order, into token files.

    The bytes of the token files depend only on the inputs, the tokenizer, the format and the options. They do not
    depend on `batch_bytes`, `threads` or interruptions. Several calls for one output may run at once; they write the
    same bytes. Memory: about eight batches of text and ids, and the longest document. Inputs without documents give no
    token file.

    Args:
        input: Addresses, as for `find_inputs`, or files that it found.
        output: A prefix such as ``OUT/00003`` for ``OUT/00003.bin`` and the other files of the format. The directory
            is created. ``OUT/_crayon`` keeps the state: a repeated call that finds everything finished returns at
            once.
        format: One of ``FORMATS``: megatron, datatrove, npy, bin, parquet, arrow, mds.
        tokenizer: A Tokenizer, the name of a profile or of a tiktoken encoding, or a path. Its truncation and padding
            are ignored.
        column: The column, or member of a JSON object, that has the text. `template` builds the text from several:
            ``"{title}: {text}"``.
        separator: The text between documents of a text file. By default a file is one document.
        input_format: One of text, jsonl, csv, tsv, parquet, arrow; by default each file's suffix decides.
        append_eos: Add the end-of-text token to each document. `eos` names it if the tokenizer's is not known.
        add_special_tokens: Add the special tokens that the tokenizer puts around a text.
        bad_records: ``stop``, ``skip`` or ``replace``; the last two list them in a file.
        shuffle: Write the documents in the order of ``numpy.random.default_rng(seed).permutation``.
        max_tokens_per_shard: The limit of a shard; a longer document is a shard of its own. Shards are named
            ``OUT/00003_00000`` and so on.
        sequence_length: Pack documents into sequences of this many tokens, by `packing`: ``concat`` joins all and
            cuts; ``best-fit`` cuts only documents longer than a sequence, and leaves gaps. `remainder` applies to
            shorter sequences: ``drop``, ``keep`` or ``pad``, with `pad_token`.
        deduplicate: Of equal documents in these files keep the first. The files are read twice.
        batch_bytes: Bytes of text to read and encode at a time.
        max_document_bytes: Longer documents are bad records.
        threads: Encoding threads; 0 uses all cores.
        overwrite: Begin anew, and remove the files of an earlier call for this output.
        progress: Called after every batch.

    Returns:
        The shards, their files and the counts.

    Raises:
        JobError: The output is another job's, or has files of other programs.
        BadRecordError: A bad record, with `bad_records` "stop".
        CorpusError: A file is damaged.
        FormatError: The format cannot store the ids, or a document.
        OSError: A file cannot be read or written.

    After any error the same call starts again, and replaces the shards. docs/corpora.md has examples.
    """
    how = Options.of("tokenize_shard", format, options, ShardOptions.__optional_keys__)
    files, opened = inputs_of(input, how.input_format), job_tokenizer(tokenizer)
    batch_bytes, threads = positive(batch_bytes, "batch_bytes"), validation.unsigned(threads, "threads", 16)
    overwrite = validation.flag(overwrite, "overwrite")
    check_files(files, how.reading(batch_bytes, threads))
    place = storage.normal(os.fspath(output))
    shard = _Shard(files, place, plan_encoding(Work(opened, how, batch_bytes), threads), progress)
    shard.claim(overwrite)
    made = shard.run()
    if not made.is_hashed:
        return made
    choosing.choose([(state_path(place), files)], how)
    return shard.run()


def inputs_of(input: Any, format: str | None) -> list[InputFile]:
    """The input files, in order: given ones, and the matches of addresses."""
    if isinstance(input, (str, os.PathLike, InputFile)):
        input = [input]
    files: list[InputFile] = []
    for one in input:
        files += [one] if isinstance(one, InputFile) else find_inputs([one], format)
    return files


class _Shard:
    """The work for one output."""

    def __init__(
        self,
        files: Sequence[InputFile],
        output: str,
        encoding: Encoding,
        progress: Progress | None,
    ) -> None:
        self._files, self._output, self._encoding, self._progress = files, output, encoding, progress
        tokenizer, self._options, batch_bytes = encoding.work
        self._directory, self._name = os.path.split(output)
        if not self._name:
            raise ValueError(f"output is {output!r}, expected a directory and the beginning of names in it")
        self._storage = storage.of(output)
        self._storage.make(os.path.join(self._directory, PLACE))
        self._beside = state_path(output)
        self._path, self._bad_records = f"{self._beside}.json", f"{self._beside}.bad-records.jsonl"
        self._request = request_of(files, self._options, tokenizer)
        self._reading = self._options.reading(batch_bytes, encoding.threads)

    def run(self) -> ShardSummary:
        state = self._begin()
        if not state.done and self._options.deduplicate and not self._storage.is_there(f"{self._beside}.chosen"):
            self._hash()
            return ShardSummary(self._output, (), state.counts, None, True)
        if not state.done:
            state = self._do(state)
        if self._progress is not None:
            self._progress(state.counts)
        listed = self._bad_records if state.counts.bad_records else None
        return ShardSummary(self._output, state.shards, state.counts, listed)

    def _do(self, state: State) -> State:
        """Tokenize the remaining documents and return the final state."""
        settings, options = self._encoding.settings, self._options
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(self._storage.workplace(self._directory))
            bad = stack.enter_context(contextlib.closing(storage.Gathered()))
            shards = stack.enter_context(Shards(self._output, settings, state.request, self._path, place))
            target = packed(shards, self._encoding)
            if options.shuffle:
                spool = stack.enter_context(contextlib.closing(Shuffler(place, self._encoding.encoder.dtype)))
                counts = self._read(spool, bad)
                for ids, splits in spool.shuffled(options.seed):
                    stopping.check()
                    target.write(ids, splits)
            else:
                counts = self._read(target, bad)
            target.finish()
            bad.place(self._bad_records)
            shards.check()
            state = state._replace(shards=shards.finished, counts=counts, done=True)
            self._storage.place(self._path, [state.as_bytes()])
        return state

    # -- existing files

    def claim(self, overwrite: bool) -> None:
        """Refuse to replace files of other programs. With `overwrite`, remove those of an earlier call."""
        try:
            state = load(self._path)
        except JobError as error:
            if not overwrite or isinstance(error, StoreError):
                raise
            self._storage.remove([self._path])
            state = None
        if state is not None and not overwrite:
            return
        name = re.escape(self._name)
        ours = [] if state is None else own_files(self._directory, state.request, name)
        there = [file for file in shard_files(self._directory, self._request, name) if file not in ours]
        if there and (state is not None or load(self._path) is None):  # else another process has just begun
            refuse_taken(self._directory, there)
        if state is not None:
            self._forget(state)

    def _begin(self) -> State:
        """Return the state to resume from. A new state is written before any other file of the output."""
        state = load(self._path)
        if state is not None:
            now = continued(state.request, self._request)
            if state.done:
                refuse(self._output, state.request, self._request)
            if not differences(state.request, now) and (not state.done or self._is_whole(state)):
                if state.request != now:
                    state = state._replace(request=now)
                    self._storage.place(self._path, [state.as_bytes()])
                return state
            self._forget(state)
        new = State(self._request)
        return new if self._storage.create(self._path, new.as_bytes()) else self._begin()

    def _is_whole(self, state: State) -> bool:
        has_list = not state.counts.bad_records or self._storage.is_there(self._bad_records)
        return has_list and changed_shard(self._directory, state.shards) is None

    def _forget(self, state: State) -> None:
        """Remove all files written for the output, the state last."""
        remove_files(self._directory, own_files(self._directory, state.request, re.escape(self._name)))
        self._storage.remove_leftovers(self._directory)
        self._storage.remove(f"{self._beside}.{ending}" for ending in ("hashes", "chosen", "bad-records.jsonl"))
        self._storage.remove([self._path])

    # -- documents

    def _read(self, target: Any, bad: storage.Gathered) -> Counts:
        """Read and encode all documents and write them to `target`. Returns their counts."""
        choice, done = choosing.Choice(self._beside, self._options), Counts()

        def encode(batches: list[Batch]) -> Encoded:
            return encoded(batches, self._files, choice, self._encoding.encoder)

        def write(batch: Encoded) -> None:
            nonlocal done
            target.write(batch.ids, batch.splits)
            for record in batch.bad:
                fields = {"file": record.address, record.what: record.number, "reason": record.reason}
                bad.write(_as_json(fields).encode("utf-8", "backslashreplace") + b"\n")
            done = done.plus(batch.counts)._replace(input_bytes=batch.counts.input_bytes)
            if self._progress is not None:
                self._progress(done)

        self._overlap(lambda: bundles(self._batches(), self._reading.batch_bytes), encode, write)
        return done._replace(input_bytes=sum(max(file.size, 0) for file in self._files))

    def _hash(self) -> None:
        """Hash the documents, the first pass of deduplication. Bad records are listed in the second pass."""
        if self._storage.is_there(f"{self._beside}.hashes"):
            return

        def hashed(batch: Batch) -> tuple[int, npt.NDArray[np.uint64]]:
            return batch.file, choosing.hashes_of(*batch.documents[:3])

        def add(of_file: tuple[int, npt.NDArray[np.uint64]]) -> None:
            counts[of_file[0]] += len(of_file[1])
            hashes.write(of_file[1].astype("<u8", copy=False).tobytes())

        counts = np.zeros(len(self._files), "<u8")
        with contextlib.closing(storage.Gathered()) as hashes:
            self._overlap(self._batches, hashed, add)
            hashes.write(counts.tobytes() + len(counts).to_bytes(8, "little"))
            hashes.place(f"{self._beside}.hashes")

    def _overlap(self, *steps: Any) -> None:
        try:
            overlap(*steps)
        finally:
            self._encoding.has_read()

    def _batches(self) -> Generator[Batch, None, None]:
        return read_batches(self._files, self._reading)


def state_path(output: str) -> str:
    """The path of an output's state, without its suffix."""
    directory, name = os.path.split(output)
    return os.path.join(directory, PLACE, name)


def changed_shard(directory: str, shards: Iterable[dict[str, Any]]) -> str | None:
    """The path of the first finished shard with a file that is missing or has another size than its record."""
    place, files = storage.of(directory), [(shard["name"], file) for shard in shards for file in shard["files"]]
    sizes = place.map(lambda each: place.size(os.path.join(directory, each[1]["name"])), files)
    changed = (name for size, (name, file) in zip(sizes, files, strict=True) if size != file["bytes"])
    return next((os.path.join(directory, name) for name in changed), None)


def do_task(task: Task, encoding: Encoding, progress: Progress | None = None) -> ShardSummary | Failure:
    """Run a task of a job, in a thread or process of this machine, on Ray or on Spark.

    With deduplication, and before `choosing.choose` has run, this call only hashes the documents. Call it again after
    `choose`. Errors become results, so that processes without the errors' classes can read them.
    """
    job = os.path.join(os.path.dirname(task.output), PLACE, JOB)
    try:
        stopping.check()
        if not storage.of(task.output).is_there(job):
            raise gone(job)
        return _Shard(task.files, task.output, encoding, progress).run()
    except BaseException as error:  # some libraries raise errors outside `Exception`
        if not isinstance(error, Exception) and threading.current_thread() is threading.main_thread():
            raise  # Ray and Spark end a worker by a signal
        return failure_of(error)
