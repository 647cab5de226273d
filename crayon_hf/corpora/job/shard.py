"""`tokenize_shard`: some input files to the token files of one output name, as a function of its arguments alone."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from crayon_hf.corpora import storage
from crayon_hf.corpora.job import choosing
from crayon_hf.corpora.job.job_spec import are_same_files, continued, differences, refuse, request_of
from crayon_hf.corpora.job.options import BATCH_BYTES, MAX_DOCUMENT_BYTES, Options, positive
from crayon_hf.corpora.job.prefetch import overlap
from crayon_hf.corpora.job.state import PLACE, Checkpoint, Counts, State, load
from crayon_hf.corpora.storage import waiting
from crayon_hf.errors import JobError, StoreError
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.util import validation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from crayon_hf.corpora.job.encoded import Encoded
    from crayon_hf.corpora.job.encoder import Encoding
    from crayon_hf.corpora.job.task_batches import Batch
    from crayon_hf.corpora.storage import Desk
    from crayon_hf.tokenizer import Tokenizer

Progress = Callable[[Counts], None]
"""Called after every batch with what was read and written so far, by earlier calls, too."""

_SPOOL_CHECKPOINT = 1 << 28
"""Bytes of text, about, after which what was spooled for shuffling is brought to the disk and noted."""


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
    column: str = "text",
    template: str | None = None,
    separator: str | None = None,
    input_format: str | None = None,
    append_eos: bool = False,
    eos: str | None = None,
    add_special_tokens: bool = False,
    bad_records: str = "stop",
    shuffle: bool = False,
    seed: int = 0,
    max_tokens_per_shard: int | None = None,
    sequence_length: int | None = None,
    packing: str | None = None,
    remainder: str | None = None,
    pad_token: str | None = None,
    deduplicate: bool = False,
    batch_bytes: int = BATCH_BYTES,
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
    threads: int = 0,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> ShardSummary:
    """Tokenize the documents of some files, in order, into token files.

    The bytes of the files depend on the inputs, the tokenizer, the format and the options, and on nothing else: not on
    `batch_bytes` or `threads`, and not on how often the call was killed and made again. Two calls for one output never
    work at once. Memory: some eight batches of text and ids, and the longest document. No document, no file.

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
        JobError: The output is another job's, or somebody else's, or just being written.
        BadRecordError: A bad record, with `bad_records` "stop".
        CorpusError: A file is damaged.
        FormatError: The format has no room for the ids, or for a document.
        OSError: A file cannot be read or written. As after every error the same call goes on after the last shard.

    docs/corpora.md has examples.
    """
    options = Options(
        format, input_format, column, template, separator, append_eos, eos, add_special_tokens, bad_records, shuffle,
        seed, max_tokens_per_shard, max_document_bytes, sequence_length, packing, remainder, pad_token,
        deduplicate,
    ).checked()  # fmt: skip
    from crayon_hf.corpora.job.encoder import job_tokenizer, plan_encoding
    from crayon_hf.text_readers.files import check_files

    files, opened = inputs_of(input, options.input_format), job_tokenizer(tokenizer)
    batch_bytes, threads = positive(batch_bytes, "batch_bytes"), validation.unsigned(threads, "threads", 16)
    overwrite = validation.flag(overwrite, "overwrite")
    check_files(files, options.reading(batch_bytes, threads))
    encoding = plan_encoding(opened, options, threads)
    place = storage.normal(os.fspath(output))
    made = run_shard(files, place, options, encoding, batch_bytes, overwrite, progress)
    if not made.is_hashed:
        return made
    choosing.choose([(state_path(place), files)], options)
    return run_shard(files, place, options, encoding, batch_bytes, False, progress)


def inputs_of(input: Any, format: str | None) -> list[InputFile]:
    """Files that were found, and what addresses stand for, in order."""
    from crayon_hf.text_readers.addresses import find_inputs

    if isinstance(input, (str, os.PathLike, InputFile)):
        input = [input]
    files: list[InputFile] = []
    for one in input:
        files += [one] if isinstance(one, InputFile) else find_inputs([one], format)
    return files


def run_shard(
    files: Sequence[InputFile],
    output: str,
    options: Options,
    encoding: Encoding,
    batch_bytes: int,
    overwrite: bool = False,
    progress: Progress | None = None,
    has_read: Callable[[], None] = lambda: None,
) -> ShardSummary:
    """`tokenize_shard` of arguments that were checked. `has_read` is called when nothing is left to read.

    Where duplicates are left out, and it is not known which documents those are (`crayon_hf.corpora.job.choosing`), it
    hashes them, and has to be called again.
    """
    from crayon_hf.corpora.job.locks import lock

    directory, name = os.path.split(output)
    if not name:
        raise ValueError(f"output is {output!r}, expected a directory and the beginning of names in it")
    place = os.path.join(directory, PLACE)
    storage.of(output).make(place)
    held = lock(os.path.join(place, f"{name}.lock"), f"{output} is being written by another process")
    try:
        work = _Work(files, output, options, encoding, batch_bytes, progress, has_read)
        return work.run(overwrite)
    finally:
        held.release(remove=True)


class _Work:
    """One call, with the lock held."""

    def __init__(
        self,
        files: Sequence[InputFile],
        output: str,
        options: Options,
        encoding: Encoding,
        batch_bytes: int,
        progress: Progress | None,
        has_read: Callable[[], None],
    ) -> None:
        self._files, self._output, self._options, self._progress = files, output, options, progress
        self._has_read = has_read
        self._directory = os.path.dirname(output)
        self._storage = storage.of(output)
        self._goes_on = False
        self._beside = state_path(output)
        self._path = f"{self._beside}.json"
        self._request = request_of(files, options, encoding.tokenizer)
        self._encoder, self._settings, self._pad_id = encoding.encoder, encoding.settings, encoding.pad_id
        self._reading = options.reading(batch_bytes, encoding.threads)

    def run(self, overwrite: bool) -> ShardSummary:
        from crayon_hf.corpora.job.shuffled import files_of

        state, options = self._begin(overwrite), self._options
        if not state.done and options.deduplicate and not choosing.is_chosen(self._beside):
            self._hash()
            return ShardSummary(self._output, (), state.counts, None, True)
        if not state.done:
            with self._storage.desk(self._output, lambda: self._goes_on) as desk:
                state = self._work(state, desk)
        if options.shuffle:
            self._storage.remove(files_of(self._beside) if self._storage.lists_all else ())
        if self._progress is not None:
            self._progress(state.counts)
        listed = self._bad_path if state.counts.bad_records else None
        return ShardSummary(self._output, state.shards, state.counts, listed)

    def _work(self, state: State, desk: Desk) -> State:
        """Do what is left; the state then."""
        from crayon_hf.corpora.job.packing import packed
        from crayon_hf.corpora.job.shards import BadRecords, Shards

        options, bad_path = self._options, f"{desk.beside}.bad-records.jsonl"
        if state.bad_bytes:
            desk.fetch(bad_path)
        anew = options.shuffle and not desk.keeps  # all documents are read once more
        self._choice = choosing.Choice(self._beside, options, 0 if anew else state.counts.read)
        files = Shards(
            options.format, self._output, self._settings, options.max_tokens_per_shard, state, self._path, desk
        )
        shards = packed(files, options, self._pad_id)
        try:
            if options.shuffle:
                self._shuffle(shards, BadRecords(bad_path, 0 if anew else state.bad_bytes, desk), desk)
            else:
                self._straight(shards, BadRecords(bad_path, state.bad_bytes, desk))
        except BaseException:
            shards.abort()
            raise
        return shards.state

    @property
    def _bad_path(self) -> str:
        return f"{self._beside}.bad-records.jsonl"

    # -- what is there

    def _begin(self, overwrite: bool) -> State:
        """The state to go on from; a new one is on the disk before anything else of the output is."""
        from crayon_hf.corpora.formats import FORMATS
        from crayon_hf.corpora.job.owned_files import refuse_taken, taken
        from crayon_hf.corpora.job.shards import prefix_of

        self._tidy()
        try:
            state = load(self._path)
        except JobError as error:
            if not overwrite or isinstance(error, StoreError):
                raise
            state = None
        if state is not None and not overwrite:
            now = self._request
            if are_same_files(state.request["inputs"], now["inputs"]):
                now = continued(state.request, now)
            if state.shards:
                refuse(self._output, state.request, now)
            if (
                not differences(state.request, now)
                and is_whole(self._directory, state.shards)
                and self._is_resumable(state)
            ):
                self._goes_on = True
                if not state.done:
                    next = prefix_of(self._output, self._options.max_tokens_per_shard, len(state.shards))
                    names = [os.path.basename(path) for path in FORMATS[self._options.format].files(next)]
                    self._storage.remove_leftovers(self._directory, names)
                return state if state.request == now else self._noted(state._replace(request=now))
        options, name = self._options, os.path.basename(self._output)
        is_limited = options.max_tokens_per_shard is not None
        ours = [] if state is None else written(self._output, state)
        if self._storage.lists_all:  # else each file is asked for when it is to be there
            there = taken(self._directory, options.format, {name}, is_limited)
            refuse_taken(self._directory, (name for name in there if name not in ours))
        if state is not None:
            forget_shard(self._output, state)
        return self._noted(State(self._request))

    def _noted(self, state: State) -> State:
        state.save(self._path)
        return state

    def _is_resumable(self, state: State) -> bool:
        """Whether the files that the state speaks of are there, with as much as it says."""
        from crayon_hf.corpora.job.shuffled import files_of

        size = self._storage.size
        if state.bad_bytes > 0 and size(self._bad_path) < state.bad_bytes:
            return False
        if state.done or state.spooled == (0, 0):
            return True
        sizes = state.spooled[0] * self._encoder.dtype.itemsize, state.spooled[1] * 8
        return all(size(path) >= least for path, least in zip(files_of(self._beside), sizes, strict=True))

    def _tidy(self) -> None:
        """Remove what `write_atomic` left of the state when it was killed."""
        place, name = os.path.split(self._path)
        self._storage.remove_halves(place, [name])

    # -- documents in their order

    def _straight(self, shards: Any, bad: Any) -> None:
        from crayon_hf.corpora.job.task_batches import at

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
                return {"next": at(batch, encoded.place(document)), "counts": counts, "bad_bytes": bad.sync()}

            shards.write(encoded.ids, encoded.splits, before)
            done = note(None)
            return done

        self._run(shards.state.next, write)
        end = Checkpoint(len(self._files))
        shards.finish({"next": end, "counts": self._total(done), "bad_bytes": bad.sync(), "done": True})

    # -- documents in another order

    def _shuffle(self, shards: Any, bad: Any, desk: Desk) -> None:
        from crayon_hf.corpora.job.shuffled import Spool

        spool = Spool(desk.beside, self._encoder.dtype, *shards.state.spooled)
        with contextlib.closing(spool):
            if shards.state.ordered is None or not desk.keeps:  # what was spooled elsewhere is spooled again
                self._spool(shards, spool, bad, desk.keeps)
            for number, ids, splits in spool.shuffled(self._options.seed, shards.state.ordered):
                waiting.check()
                shards.write(ids, splits, lambda document, number=number: {"ordered": number + document})
            shards.finish({"ordered": spool.documents, "done": True})

    def _spool(self, shards: Any, spool: Any, bad: Any, is_kept: bool) -> None:
        done = noted = shards.state.counts if is_kept else Counts()

        def write(encoded: Encoded) -> Counts:
            nonlocal done, noted
            batch = encoded.batch
            spool.write(encoded.ids, encoded.splits)
            bad.add(batch.bad)
            done = encoded.counted(done, None, len(batch.bad))
            if is_kept and done.text_bytes - noted.text_bytes >= _SPOOL_CHECKPOINT:
                noted = done
                shards.save({"next": batch.after, "counts": done, "bad_bytes": bad.sync(), "spooled": spool.sync()})
            return done

        self._run(shards.state.next if is_kept else Checkpoint(), write)
        end, total = Checkpoint(len(self._files)), self._total(done)
        spooled = {"spooled": spool.sync()} if is_kept else {}
        shards.save(
            {"next": end, "counts": total, "bad_bytes": bad.sync(), **spooled, "ordered": shards.state.ordered or 0}
        )  # fmt: skip

    # -- both

    def _total(self, done: Counts) -> Counts:
        return done._replace(input_bytes=sum(max(file.size, 0) for file in self._files))

    def _run(self, start: Checkpoint, write: Callable[[Encoded], Counts]) -> None:
        """Read all from `start` on, encode it, and `write` it, which says what is done then."""
        from crayon_hf.corpora.job.encoded import encoded
        from crayon_hf.corpora.job.task_batches import bundles, read_batches

        def read() -> Iterator[list[Batch]]:
            return bundles(read_batches(self._files, self._reading, start), self._reading.batch_bytes)

        def encode(batches: list[Batch]) -> list[Encoded]:
            return encoded(batches, self._files, self._choice, self._encoder)

        def write_all(batches: list[Encoded]) -> None:
            for batch in batches:
                done = write(batch)
            if self._progress is not None:
                self._progress(done)

        overlap(read, encode, write_all, self._has_read)

    def _hash(self) -> None:
        """The first pass where duplicates are left out. Bad records are listed in the second one."""
        from crayon_hf.corpora.job.task_batches import read_batches

        if choosing.has_hashes(self._beside):
            return
        hashes = choosing.Hashes(self._beside, len(self._files))

        def hashed(batch: Batch) -> tuple[int, npt.NDArray[np.uint64]]:
            return batch.after.file, choosing.hashes_of(batch.data, batch.begins, batch.ends)

        with contextlib.closing(hashes):
            overlap(
                lambda: read_batches(self._files, self._reading, Checkpoint()),
                hashed,
                lambda each: hashes.add(*each),
                self._has_read,
            )
            hashes.finish()


def state_path(output: str) -> str:
    """Where the state of an output is, without its ending."""
    directory, name = os.path.split(output)
    return os.path.join(directory, PLACE, name)


def written(output: str, state: State) -> list[str]:
    """The files of an output that are its own, relative to its directory: those that its state lists, and those of the
    shard after the last, which may be there and not be noted yet."""
    from crayon_hf.corpora.formats import FORMATS
    from crayon_hf.corpora.job.owned_files import listed
    from crayon_hf.corpora.job.shards import prefix_of

    directory, name = os.path.split(output)
    format, limit = state.request["format"], state.request["max_tokens_per_shard"]
    files = listed(state.shards, format, re.escape(name))
    if state.done or (limit is None and state.shards):
        return files
    next = prefix_of(output, limit, len(state.shards))
    there = storage.of(output).written(FORMATS[format], next)
    return files + [os.path.relpath(path, directory or ".") for path in there]


def forget_shard(output: str, state: State) -> None:
    """Remove all that was written for an output, the state last."""
    from crayon_hf.corpora.formats import FORMATS
    from crayon_hf.corpora.job.owned_files import remove_listed
    from crayon_hf.corpora.job.shards import prefix_of
    from crayon_hf.corpora.job.shuffled import files_of

    directory = os.path.dirname(output)
    remove_listed(directory, written(output, state))
    format, limit = FORMATS[state.request["format"]], state.request["max_tokens_per_shard"]
    prefixes = [prefix_of(output, limit, index) for index in range(len(state.shards) + 1)]
    place = storage.of(output)
    place.remove_leftovers(directory, [os.path.basename(path) for prefix in prefixes for path in format.files(prefix)])
    beside = state_path(output)
    passes = [f"{beside}.{ending}" for ending in ("hashes", "hashes.part", "chosen")]
    place.remove([*files_of(beside), *passes, f"{beside}.bad-records.jsonl"])
    place.remove([f"{beside}.json"])


def is_whole(directory: str, shards: Sequence[dict[str, Any]]) -> bool:
    """Whether all files of finished shards are there, as large as they were."""
    place = storage.of(directory)
    files = [file for shard in shards for file in shard["files"]]
    sizes = place.map(lambda file: place.size(os.path.join(directory, file["name"])), files)
    return all(size == file["bytes"] for size, file in zip(sizes, files, strict=False))
