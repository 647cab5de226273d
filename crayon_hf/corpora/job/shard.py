"""`tokenize_shard`: some input files to the token files of one output name, as a function of its arguments alone."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.job import choosing
from crayon_hf.corpora.job.documents import Batch, Encoded, Shuffler, bundles, encoded, read_batches
from crayon_hf.corpora.job.encoder import Encoding, Work, job_tokenizer, plan_encoding
from crayon_hf.corpora.job.failures import Failure, failure_of
from crayon_hf.corpora.job.job_spec import are_same_files, continued, differences, refuse, request_of
from crayon_hf.corpora.job.options import BATCH_BYTES, Options, ShardOptions, positive
from crayon_hf.corpora.job.owned_files import listed, refuse_taken, remove_listed, taken
from crayon_hf.corpora.job.packing import packed
from crayon_hf.corpora.job.plan import Task
from crayon_hf.corpora.job.prefetch import overlap
from crayon_hf.corpora.job.shards import BadRecords, Shards, prefix_of
from crayon_hf.corpora.job.state import PLACE, Counts, State, load
from crayon_hf.corpora.storage import stopping
from crayon_hf.errors import JobError, StoreError
from crayon_hf.text_readers.addresses import find_inputs
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.text_readers.files import check_files
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util import validation

if TYPE_CHECKING:
    from typing_extensions import Unpack


Progress = Callable[[Counts], None]
"""Called after every batch with what was read so far."""
InTurn = Callable[[Iterator[Any]], Iterator[Any]]


class ShardSummary(NamedTuple):
    """What `tokenize_shard` did, or found done."""

    output: str
    shards: tuple[dict[str, Any], ...]
    """Of each its ``name``, ``documents``, ``tokens`` and ``files``; of each file its ``name`` and ``bytes``. With
    packing ``sequences`` and ``padding`` (tokens) instead of ``documents``."""
    counts: Counts
    bad_records_file: str | None
    """Where the bad records are listed, as JSON lines of ``file``, ``line`` (``row``, ``document``) and ``reason``."""
    is_hashed: bool = False
    """It was the first of two passes; nothing is written yet."""

    def as_json(self) -> dict[str, Any]:
        """As values for `json.dumps`."""
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

    The bytes of the files depend on the inputs, the tokenizer, the format and the options, and on nothing else: not on
    `batch_bytes` or `threads`, and not on how often the call was killed and made again. Calls for one output may work
    at once, and write the same bytes. Memory: some eight batches of text and ids, and the longest document. No
    document, no file.

    Args:
        input: Addresses, as `find_inputs` takes them, or files that it found.
        output: A prefix, ``OUT/00003``: the files are ``OUT/00003.bin`` and so on, as the format has it. The directory
            is made. What is needed to go on is in ``OUT/_crayon``, and stays there when all is done: the same call
            again finds it, and does nothing.
        format: One of ``FORMATS``: megatron, datatrove, npy, bin, parquet, arrow, mds.
        tokenizer: The name of a profile or of a tiktoken encoding, a path, or a Tokenizer. Its truncation and padding
            play no part.
        column: Which member of a JSON object, or which column, is the text. `template`: ``"{title}: {text}"`` instead.
        separator: What is between two documents of a text file; without it a file is one document.
        input_format: One of text, jsonl, parquet, arrow; without it the names' endings say it.
        append_eos: The tokenizer's end-of-text token follows every document. `eos` names it, where it is not known.
        add_special_tokens: Documents get the special tokens that the tokenizer puts around a text.
        bad_records: ``stop``, ``skip`` or ``replace``; the last two are listed.
        shuffle: Documents are in the order of ``numpy.random.default_rng(seed).permutation``.
        max_tokens_per_shard: No shard has more, unless it is one document; shards are ``OUT/00003_00000`` and so on.
        sequence_length: Documents are packed into sequences of so many tokens, by `packing`: ``concat`` puts them one
            after the other and cuts, ``best-fit`` cuts only documents that are longer, and leaves room. `remainder`
            says what becomes of shorter sequences: ``drop``, ``keep`` or ``pad``, with `pad_token`.
        deduplicate: Of documents with the same text in these files the first one is taken. The files are read twice.
        batch_bytes: Bytes of text that are read and encoded at a time.
        max_document_bytes: A longer document is a bad record.
        threads: To encode with; 0: as many as there are cores.
        overwrite: Begin anew, and remove what an earlier call for this output wrote.

    Raises:
        JobError: The output is another job's, or has files of other programs.
        BadRecordError: A bad record, with `bad_records` "stop".
        CorpusError: A file is damaged.
        FormatError: The format has no room for the ids, or for a document.
        OSError: A file cannot be read or written. As after every error the same call goes on, and finished shards stay.

    docs/corpora.md has examples.
    """
    how = Options.of("tokenize_shard", format, options, ShardOptions.__optional_keys__)
    files, opened = inputs_of(input, how.input_format), job_tokenizer(tokenizer)
    batch_bytes, threads = positive(batch_bytes, "batch_bytes"), validation.unsigned(threads, "threads", 16)
    overwrite = validation.flag(overwrite, "overwrite")
    check_files(files, how.reading(batch_bytes, threads))
    place = storage.normal(os.fspath(output))
    encoding = plan_encoding(Work(opened, how, batch_bytes), threads)
    made = run_shard(files, place, encoding, overwrite, progress)
    if not made.is_hashed:
        return made
    choosing.choose([(state_path(place), files)], how)
    return run_shard(files, place, encoding, False, progress)


def inputs_of(input: Any, format: str | None) -> list[InputFile]:
    """Files that were found, and what addresses stand for, in order."""
    if isinstance(input, (str, os.PathLike, InputFile)):
        input = [input]
    files: list[InputFile] = []
    for one in input:
        files += [one] if isinstance(one, InputFile) else find_inputs([one], format)
    return files


def run_shard(
    files: Sequence[InputFile],
    output: str,
    encoding: Encoding,
    overwrite: bool = False,
    progress: Progress | None = None,
    in_turn: InTurn = iter,
) -> ShardSummary:
    """`tokenize_shard` of arguments that were checked. The batches that it reads go through `in_turn`.

    Where duplicates are left out, and it is not known which documents those are (`crayon_hf.corpora.job.choosing`), it
    hashes them, and has to be called again.
    """
    directory, name = os.path.split(output)
    if not name:
        raise ValueError(f"output is {output!r}, expected a directory and the beginning of names in it")
    storage.of(output).make(os.path.join(directory, PLACE))
    return _Shard(files, output, encoding, progress, in_turn).run(overwrite)


class _Shard:
    """One call."""

    def __init__(
        self,
        files: Sequence[InputFile],
        output: str,
        encoding: Encoding,
        progress: Progress | None,
        in_turn: InTurn,
    ) -> None:
        self._files, self._output, self._encoding, self._progress = files, output, encoding, progress
        self._in_turn = in_turn
        tokenizer, self._options, batch_bytes = encoding.work
        self._directory = os.path.dirname(output)
        self._storage = storage.of(output)
        self._goes_on = False
        self._beside = state_path(output)
        self._path, self._bad_records = f"{self._beside}.json", f"{self._beside}.bad-records.jsonl"
        self._request = request_of(files, self._options, tokenizer)
        self._reading = self._options.reading(batch_bytes, encoding.threads)

    def run(self, overwrite: bool) -> ShardSummary:
        state = self._begin(overwrite)
        if not state.done and self._options.deduplicate and not choosing.is_chosen(self._beside):
            self._hash()
            return ShardSummary(self._output, (), state.counts, None, True)
        if not state.done:
            state = self._do(state)
        if self._progress is not None:
            self._progress(state.counts)
        listed = self._bad_records if state.counts.bad_records else None
        return ShardSummary(self._output, state.shards, state.counts, listed)

    def _do(self, state: State) -> State:
        """Do what is left; the state then."""
        settings, options = self._encoding.settings, self._options
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(self._storage.workplace(self._directory))
            bad = stack.enter_context(contextlib.closing(BadRecords()))
            shards = stack.enter_context(Shards(self._output, settings, state, self._path, place))
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
            bad.finish(self._bad_records)
            shards.save(counts=counts, done=True)
        if self._goes_on:
            self._storage.end_uploads(self._directory, _names(self._output, state, len(state.shards)))
        return shards.state

    # -- what is there

    def _begin(self, overwrite: bool) -> State:
        """The state to go on from; a new one is on the disk before anything else of the output is."""
        is_damaged = False
        try:
            state = load(self._path)
        except JobError as error:
            if not overwrite or isinstance(error, StoreError):
                raise
            state, is_damaged = None, True
        if state is not None and not overwrite:
            now = self._request
            if are_same_files(state.request["inputs"], now["inputs"]):
                now = continued(state.request, now)
            if state.shards:
                refuse(self._output, state.request, self._request)
            if (
                not differences(state.request, now)
                and is_whole(self._directory, state.shards)
                and (not state.done or not state.counts.bad_records or self._storage.is_there(self._bad_records))
            ):
                self._goes_on = True
                if state.request != now:
                    state = state._replace(request=now)
                    self._storage.write(self._path, state.as_bytes())
                return state
        options, name = self._options, os.path.basename(self._output)
        is_limited = options.max_tokens_per_shard is not None
        ours = [] if state is None else written(self._output, state)
        if self._storage.lists_all:  # else each file is asked for when it is to be there
            there = [one for one in taken(self._directory, options.format, {name}, is_limited) if one not in ours]
            if there and state is None and not is_damaged and load(self._path):  # another process has just begun
                return self._begin(overwrite)
            refuse_taken(self._directory, there)
        if state is not None:
            forget_shard(self._output, state)
        if is_damaged:
            self._storage.remove([self._path])
        new = State(self._request)
        return new if self._storage.create(self._path, new.as_bytes()) else self._begin(False)

    # -- documents

    def _read(self, target: Any, bad: BadRecords) -> Counts:
        """Read all, encode it, and write it to `target`; what there was."""
        choice, done = choosing.Choice(self._beside, self._options), Counts()

        def encode(batches: list[Batch]) -> Encoded:
            return encoded(batches, self._files, choice, self._encoding.encoder)

        def write(batch: Encoded) -> None:
            nonlocal done
            target.write(batch.ids, batch.splits)
            bad.add(batch.bad)
            done = done.plus(batch.counts)._replace(input_bytes=batch.counts.input_bytes)
            if self._progress is not None:
                self._progress(done)

        overlap(lambda: bundles(self._batches(), self._reading.batch_bytes), encode, write)
        return done._replace(input_bytes=sum(max(file.size, 0) for file in self._files))

    def _hash(self) -> None:
        """The first pass where duplicates are left out. Bad records are listed in the second one."""
        if choosing.has_hashes(self._beside):
            return

        def hashed(batch: Batch) -> tuple[int, npt.NDArray[np.uint64]]:
            return batch.file, choosing.hashes_of(*batch.documents[:3])

        with contextlib.closing(choosing.Hashes(self._beside, len(self._files))) as hashes:
            overlap(self._batches, hashed, lambda each: hashes.add(*each))
            hashes.finish()

    def _batches(self) -> Iterator[Batch]:
        return self._in_turn(read_batches(self._files, self._reading))


def state_path(output: str) -> str:
    """Where the state of an output is, without its ending."""
    directory, name = os.path.split(output)
    return os.path.join(directory, PLACE, name)


def written(output: str, state: State) -> list[str]:
    """The files of an output that are its own, relative to its directory: those that its state lists, and those of the
    shard after the last, which may be there and not be noted yet."""
    directory, name = os.path.split(output)
    format, limit = state.request["format"], state.request["max_tokens_per_shard"]
    files = listed(state.shards, format, re.escape(name))
    if state.done or (limit is None and state.shards):
        return files
    next = prefix_of(output, limit, len(state.shards))
    there = FORMATS[format].written(next, storage.of(output).is_there)
    return files + [os.path.relpath(path, directory or ".") for path in there]


def forget_shard(output: str, state: State) -> None:
    """Remove all that was written for an output, the state last."""
    directory = os.path.dirname(output)
    remove_listed(directory, written(output, state))
    place = storage.of(output)
    place.remove_leftovers(directory)
    place.end_uploads(directory, _names(output, state))
    endings = ("hashes", "chosen", "bad-records.jsonl")
    place.remove(f"{state_path(output)}.{ending}" for ending in endings)
    place.remove([f"{state_path(output)}.json"])


def _names(output: str, state: State, first: int = 0) -> list[str]:
    """Of the files of all shards from a number on, with those of the one after the last: an attempt may be at it."""
    format, limit = FORMATS[state.request["format"]], state.request["max_tokens_per_shard"]
    prefixes = (prefix_of(output, limit, number) for number in range(first, len(state.shards) + 1))
    return [os.path.basename(path) for prefix in prefixes for path in format.files(prefix)]


def is_whole(directory: str, shards: Sequence[dict[str, Any]]) -> bool:
    """Whether all files of finished shards are there, as large as they were."""
    place = storage.of(directory)
    files = [file for shard in shards for file in shard["files"]]
    sizes = place.map(lambda file: place.size(os.path.join(directory, file["name"])), files)
    return all(size == file["bytes"] for size, file in zip(sizes, files, strict=False))


def do_task(
    task: Task, encoding: Encoding, progress: Progress | None = None, in_turn: InTurn = iter
) -> ShardSummary | Failure:
    """Do a task: what threads and processes of this machine, Ray and Spark do. An error is a result, so that it can be
    read where its class is not known."""
    try:
        stopping.check()
        return run_shard(task.files, task.output, encoding, False, progress, in_turn)
    except stopping.Stopped:
        return Failure("stopped", f"task {task.name} was stopped")
    except BaseException as error:  # of libraries, too, whose errors are no `Exception`
        if not isinstance(error, Exception) and threading.current_thread() is threading.main_thread():
            raise  # an engine ends its worker by a signal
        return failure_of(error)


def taking_turns(is_over: Callable[[], bool], has_read: Callable[[], object]) -> InTurn:
    """What stops reading when all `is_over`, and says when a task has nothing left to read."""

    def in_turn(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            for batch in batches:
                if is_over():
                    raise stopping.Stopped
                yield batch
        finally:
            has_read()

    return in_turn
