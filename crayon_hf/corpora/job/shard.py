"""`tokenize_shard`: some input files to the token files of one output name, as a function of its arguments alone."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.job import choosing
from crayon_hf.corpora.job.encoded import Encoded, encoded
from crayon_hf.corpora.job.encoder import Encoding, job_tokenizer, plan_encoding
from crayon_hf.corpora.job.job_spec import are_same_files, continued, differences, refuse, request_of
from crayon_hf.corpora.job.options import BATCH_BYTES, Options, ShardOptions, positive
from crayon_hf.corpora.job.owned_files import listed, refuse_taken, remove_listed, taken
from crayon_hf.corpora.job.packing import packed
from crayon_hf.corpora.job.prefetch import overlap
from crayon_hf.corpora.job.shards import BadRecords, Shards, bad_records_files, prefix_of
from crayon_hf.corpora.job.shuffled import Shuffler
from crayon_hf.corpora.job.state import PLACE, Checkpoint, Counts, State, load
from crayon_hf.corpora.job.task_batches import Batch, at, bundles, read_batches
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
"""Called after every batch with what was read and written so far, by earlier calls, too."""


class ShardJob(NamedTuple):
    """What `run_shard` does."""

    files: Sequence[InputFile]
    output: str
    """The prefix of its files, as `tokenize_shard` takes it."""
    options: Options
    encoding: Encoding
    batch_bytes: int


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
        OSError: A file cannot be read or written. As after every error the same call goes on after the last shard.

    docs/corpora.md has examples.
    """
    how = Options.of("tokenize_shard", format, options, ShardOptions.__optional_keys__)
    files, opened = inputs_of(input, how.input_format), job_tokenizer(tokenizer)
    batch_bytes, threads = positive(batch_bytes, "batch_bytes"), validation.unsigned(threads, "threads", 16)
    overwrite = validation.flag(overwrite, "overwrite")
    check_files(files, how.reading(batch_bytes, threads))
    place = storage.normal(os.fspath(output))
    job = ShardJob(files, place, how, plan_encoding(opened, how, threads), batch_bytes)
    made = run_shard(job, overwrite, progress)
    if not made.is_hashed:
        return made
    choosing.choose([(state_path(place), files)], how)
    return run_shard(job, False, progress)


def inputs_of(input: Any, format: str | None) -> list[InputFile]:
    """Files that were found, and what addresses stand for, in order."""
    if isinstance(input, (str, os.PathLike, InputFile)):
        input = [input]
    files: list[InputFile] = []
    for one in input:
        files += [one] if isinstance(one, InputFile) else find_inputs([one], format)
    return files


def run_shard(
    job: ShardJob,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> ShardSummary:
    """`tokenize_shard` of arguments that were checked.

    Where duplicates are left out, and it is not known which documents those are (`crayon_hf.corpora.job.choosing`), it
    hashes them, and has to be called again.
    """
    directory, name = os.path.split(job.output)
    if not name:
        raise ValueError(f"output is {job.output!r}, expected a directory and the beginning of names in it")
    storage.of(job.output).make(os.path.join(directory, PLACE))
    return _Work(job, progress).run(overwrite)


class _Work:
    """One call."""

    def __init__(self, job: ShardJob, progress: Progress | None) -> None:
        self._files, self._output, self._options, self._progress = job.files, job.output, job.options, progress
        self._directory = os.path.dirname(job.output)
        self._storage = storage.of(job.output)
        self._goes_on = False
        self._beside = state_path(job.output)
        self._path = f"{self._beside}.json"
        encoding = job.encoding
        self._request = request_of(job.files, job.options, encoding.tokenizer)
        self._encoder, self._settings, self._pad_id = encoding.encoder, encoding.settings, encoding.pad_id
        self._in_turn = encoding.reading
        self._reading = job.options.reading(job.batch_bytes, encoding.threads)

    def run(self, overwrite: bool) -> ShardSummary:
        state = self._begin(overwrite)
        if not state.done and self._options.deduplicate and not choosing.is_chosen(self._beside):
            self._hash()
            return ShardSummary(self._output, (), state.counts, None, True)
        if not state.done:
            state = self._work(state)
        if self._progress is not None:
            self._progress(state.counts)
        listed = f"{self._beside}.bad-records.jsonl" if state.counts.bad_records else None
        return ShardSummary(self._output, state.shards, state.counts, listed)

    def _work(self, state: State) -> State:
        """Do what is left; the state then."""
        options, anew = self._options, self._options.shuffle  # all documents are read, and their ids spooled, again
        self._choice = choosing.Choice(self._beside, options, 0 if anew else state.counts.read)
        bad = BadRecords(self._beside, () if anew else state.bad)
        limit = options.max_tokens_per_shard
        with contextlib.closing(bad), self._storage.workplace(self._directory) as place:
            files = Shards(options.format, self._output, self._settings, limit, state, self._path, place)
            shards = packed(files, options, self._pad_id)
            try:
                if options.shuffle:
                    self._shuffle(shards, bad, place)
                else:
                    self._straight(shards, bad)
            except BaseException:
                shards.abort()
                raise
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
                and self._is_resumable(state)
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

    def _is_resumable(self, state: State) -> bool:
        """Whether the files that the state names are there, with as many bytes as it says."""
        if state.done:
            return not state.bad or self._storage.size(f"{self._beside}.bad-records.jsonl") == state.bad[-1]
        sizes = self._storage.map(self._storage.size, bad_records_files(self._beside, state.bad))
        return all(size == end - begin for size, begin, end in zip(sizes, (0, *state.bad), state.bad, strict=False))

    # -- documents in their order

    def _straight(self, shards: Any, bad: Any) -> None:
        done = shards.state.counts

        def write(encoded: Encoded) -> Counts:
            nonlocal done
            batch, began, noted = encoded.batch, done, 0

            def note(document: int | None) -> Counts:
                """List the bad records up to a document; what is done then."""
                nonlocal noted
                place = len(batch.begins) if document is None else encoded.place(document)
                upto = [r for r in batch.bad[noted:] if document is None or r.place <= place]
                bad.add(upto)
                noted += len(upto)
                return encoded.counted(began, document, noted)

            def before(document: int) -> dict[str, Any]:
                counts = note(document)
                return {"next": at(batch, encoded.place(document)), "counts": counts, "bad": bad.sync()}

            shards.write(encoded.ids, encoded.splits, before)
            done = note(None)
            return done

        self._run(shards.state.next, write)
        end = Checkpoint(len(self._files))
        shards.finish({"next": end, "counts": self._total(done), "bad": bad.finish(), "done": True})

    # -- documents in another order

    def _shuffle(self, shards: Any, bad: Any, place: str) -> None:
        spool, done = Shuffler(place, self._encoder.dtype), Counts()

        def write(encoded: Encoded) -> Counts:
            nonlocal done
            spool.write(encoded.ids, encoded.splits)
            bad.add(encoded.batch.bad)
            done = encoded.counted(done, None, len(encoded.batch.bad))
            return done

        with contextlib.closing(spool):
            self._run(Checkpoint(), write)
            if shards.state.ordered is None:
                end = Checkpoint(len(self._files))
                shards.save({"next": end, "counts": self._total(done), "bad": bad.sync(), "ordered": 0})
            for number, ids, splits in spool.shuffled(self._options.seed, shards.state.ordered):
                stopping.check()
                shards.write(ids, splits, lambda document, number=number: {"ordered": number + document})
            shards.finish({"ordered": spool.documents, "bad": bad.finish(), "done": True})

    # -- both

    def _total(self, done: Counts) -> Counts:
        return done._replace(input_bytes=sum(max(file.size, 0) for file in self._files))

    def _run(self, start: Checkpoint, write: Callable[[Encoded], Counts]) -> None:
        """Read all from `start` on, encode it, and `write` it, which says what is done then."""

        def read() -> Iterator[list[Batch]]:
            batches = self._in_turn(read_batches(self._files, self._reading, start))
            return bundles(batches, self._reading.batch_bytes)

        def encode(batches: list[Batch]) -> list[Encoded]:
            return encoded(batches, self._files, self._choice, self._encoder)

        def write_all(batches: list[Encoded]) -> None:
            for batch in batches:
                done = write(batch)
            if self._progress is not None:
                self._progress(done)

        overlap(read, encode, write_all)

    def _hash(self) -> None:
        """The first pass where duplicates are left out. Bad records are listed in the second one."""
        if choosing.has_hashes(self._beside):
            return
        hashes = choosing.Hashes(self._beside, len(self._files))

        def hashed(batch: Batch) -> tuple[int, npt.NDArray[np.uint64]]:
            return batch.after.file, choosing.hashes_of(batch.data, batch.begins, batch.ends)

        with contextlib.closing(hashes):
            overlap(
                lambda: self._in_turn(read_batches(self._files, self._reading, Checkpoint())),
                hashed,
                lambda each: hashes.add(*each),
            )
            hashes.finish()


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
    directory, name = os.path.split(output)
    remove_listed(directory, written(output, state))
    place = storage.of(output)
    place.remove_leftovers(directory)
    place.end_uploads(directory, _names(output, state))
    beside = os.path.join(directory, PLACE)
    of_shard = re.compile(rf"{re.escape(name)}\.bad-records\.\d+-\d+\.jsonl")
    ours = {one for one in place.names(beside) if of_shard.fullmatch(one)}
    ours |= {f"{name}.{ending}" for ending in ("hashes", "chosen", "bad-records.jsonl")}
    place.remove(os.path.join(beside, one) for one in ours)
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
