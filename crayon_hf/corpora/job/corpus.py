"""`tokenize_corpus`: tokenize many files into a directory of token files, on all cores, resumable after a failure."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.job import choosing
from crayon_hf.corpora.job.directory import BAD_RECORDS, HELD_OUT, MANIFEST, OUTPUTS, Directory, merged_files
from crayon_hf.corpora.job.encoder import Work, job_tokenizer, plan_encoding
from crayon_hf.corpora.job.failures import Failure, failure_of, raise_for
from crayon_hf.corpora.job.job_spec import (
    GROUP_BYTES,
    Task,
    are_same_files,
    continued,
    differences,
    gone,
    plan,
    refuse,
    request_of,
)
from crayon_hf.corpora.job.mixture import sources_of
from crayon_hf.corpora.job.options import BATCH_BYTES, CorpusOptions, Options, positive
from crayon_hf.corpora.job.pool import run_here
from crayon_hf.corpora.job.progress import JobProgress, Report
from crayon_hf.corpora.job.shard import ShardSummary, changed_shard, inputs_of, state_path
from crayon_hf.corpora.job.state import JOB, PLACE, Counts, State, load, refuse_taken, shard_files
from crayon_hf.corpora.job.summary import SCHEMA, Summary, sequences_of
from crayon_hf.errors import CorpusError, CrayonError, JobError
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.text_readers.files import check_files, read_documents
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util import validation as checks

if TYPE_CHECKING:
    from typing_extensions import Unpack


_TRIED_BYTES = 1 << 16

Runner = Callable[
    [Sequence[Task], Work, Callable[[Task, Counts], None]],
    Iterable[tuple[Task, "ShardSummary | Failure | Exception"]],
]
"""Runs tasks: calls `do_task` for each, anywhere, in any order. It may report progress, and yields each task's result.
A task without a result has failed."""


def tokenize_corpus(
    inputs: str | os.PathLike[str] | InputFile | Sequence[str | os.PathLike[str] | InputFile] | Mapping[str, Any],
    output: str | os.PathLike[str],
    format: str = "megatron",
    *,
    tokenizer: str | Tokenizer,
    batch_bytes: int = BATCH_BYTES,
    group_bytes: int = GROUP_BYTES,
    workers: int | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Report | None = None,
    runner: Runner | None = None,
    **options: Unpack[CorpusOptions],
) -> Summary:
    """Tokenize files into a directory.

    Files are processed in order. Small files share a task, and each task writes ``OUT/00000`` and so on.
    ``OUT/manifest.json`` comes last. After an error or a kill the same call resumes, and the bytes do not depend on
    interruptions. A call for a finished job returns at once. The same call may run several times at once, also on
    several machines: all end with the same files.

    Arguments that are not listed here are those of `tokenize_shard`.

    Args:
        inputs: Files, directories, patterns or fsspec addresses; files in `output` are not read. Or a mixture:
            ``{"web": {"inputs": ["web/"], "proportion": 0.7}, "code": {...}}``, which is shuffled.
        output: A directory: new, empty, or this job's.
        group_bytes: The limit of a task with several files, in stored bytes.
        workers: Processes, at most one a task. By default one for every two cores, or one for each core if inputs are
            compressed. 1 means the calling process.
        threads: Encoding threads of each worker. By default the workers share the cores.
        shuffle: Also read the files in the order of ``numpy.random.default_rng(seed).permutation``.
        deduplicate: Of equal documents in all inputs keep the first. The inputs are read twice.
        held_out: The share of documents that goes to ``OUT/held-out``, by the hash of each text.
        overwrite: Begin anew, and remove the files of an earlier job. Files of other programs are never removed.
        progress: Called after every batch, in this thread or another.
        runner: Runs the tasks, instead of processes of this machine.

    Returns:
        The summary of the job. Its `held_out` is the summary of the held-out documents.

    Raises:
        JobError: The directory is another job's or has other files. Or tasks failed, after the others were finished.
        BadRecordError: A bad record, with `bad_records` "stop"; the other workers were stopped.
        CorpusError: An input does not exist.

    docs/corpora.md has examples.
    """
    given: dict[str, Any] = {**options}
    if isinstance(inputs, Mapping):
        given["shuffle"] = given.get("shuffle") or True
    how = Options.of("tokenize_corpus", format, given, CorpusOptions.__optional_keys__)
    group_bytes = positive(group_bytes, "group_bytes")
    batch_bytes = positive(batch_bytes, "batch_bytes")
    workers = None if workers is None else positive(workers, "workers")
    threads = None if threads is None else checks.unsigned(threads, "threads", 16)
    begin_anew = checks.flag(overwrite, "overwrite")
    opened = job_tokenizer(tokenizer)
    place = storage.normal(os.fspath(output))
    if isinstance(inputs, Mapping):
        inputs, mixture = sources_of(inputs, lambda each: _outside(place, each, how.input_format))
        how = how._replace(mixture=mixture)

    work = Work(opened, how, batch_bytes)
    job = _Job(Directory(place), inputs, work, group_bytes, progress)
    sides = [job]
    if how.held_out is not None:
        directory = Directory(os.path.join(place, HELD_OUT))
        aside = how._replace(is_held_out=True)
        if how.mixture is not None:  # a repeated source gives its held-out documents once
            aside = aside._replace(mixture=tuple((*source[:2], min(source[2], 1.0)) for source in how.mixture))
        sides.append(_Job(directory, job.files, work._replace(options=aside), group_bytes, progress))

    if runner is None:
        runner = functools.partial(run_here, workers=workers, threads=threads)
    made = [side.run(begin_anew, runner) for side in sides]
    return made[0]._replace(held_out=made[1] if len(made) > 1 else None)


class _Job:
    """One call of `tokenize_corpus`, for the directory itself or for its held-out part."""

    def __init__(self, directory: Directory, inputs: Any, work: Work, group_bytes: int, report: Report | None) -> None:
        self._directory, self._work, self._report = directory, work, report
        tokenizer, self._options, batch_bytes = work
        options = self._options
        self._storage = storage.of(directory.path)
        directory.check()
        encoding = plan_encoding(work, 1)  # reports errors of the tokenizer before any work
        self._facts = {"dtype": encoding.encoder.dtype.name, "eos_id": encoding.settings.vocabulary.eos_id}
        if options.remainder == "pad":
            self._facts["pad_id"] = encoding.pad_id
        self.files = files = _outside(directory.path, inputs, options.input_format)
        check_files(files, options.reading(batch_bytes, 0))
        self._request = {**request_of(files, options, tokenizer), "group_bytes": group_bytes}
        self._tasks = plan(self._request, directory.path)
        self._input_bytes = sum(task.bytes for task in self._tasks)
        self._began = time.monotonic()
        self._counts: dict[str, Counts] = {}
        self._done: dict[str, ShardSummary] = {}
        self._sum = self._before = Counts()

    def run(self, overwrite: bool, runner: Runner) -> Summary:
        directory = self._directory
        if not overwrite and directory.is_settled and (done := directory.manifest()) and (found := self._found(done)):
            return found
        directory.tidy_up()
        try:
            return self._begin(overwrite) or self._do_all(runner)
        finally:
            with contextlib.suppress(OSError):  # an earlier error matters more
                self._storage.remove_leftovers(directory.path)

    def _do_all(self, runner: Runner) -> Summary:
        """Run the remaining tasks and return the summary.

        If another process finishes the job meanwhile, it removes the state. Errors caused by that are ignored.
        """
        try:
            self._do(runner)
            return self._finish()
        except (CrayonError, OSError):
            done = self._directory.manifest()
            if done is None or (summary := self._found(done)) is None:
                raise
            self._directory.settle()
            return summary

    def _begin(self, overwrite: bool) -> Summary | None:
        """Claim the directory for this job. Returns the summary if the job is finished already."""
        directory = self._directory
        while True:
            before = None if overwrite else directory.job()
            done = None if overwrite else directory.manifest()  # read after the job file, which a job removes last
            if done is not None and (summary := self._found(done)) is not None:
                directory.settle()  # only leftover state files remain
                return summary
            if before is not None and done is None:
                if self._goes_on(before):
                    return None
                if directory.has_finished_tasks():
                    refuse(directory.path, before, self._request)
            if self._begin_anew(clear=before is not None or done is not None or overwrite):
                return None
            if (other := directory.job()) is not None:  # another process began at the same time
                refuse(directory.path, other, self._request)
            overwrite = False

    def _found(self, done: dict[str, Any]) -> Summary | None:
        """Return the summary if `done` is this job's manifest, or None if `done` is that of a job without shards, which
        may be replaced. Raises JobError for any other job."""
        before = {**done["settings"], "tokenizer": done["tokenizer"]}
        before["inputs"] = [file for task in done["tasks"] for file in task["inputs"]]
        now = {**self._request, "inputs": [list(file[:2]) for task in self._tasks for file in task.files]}
        shards = [shard for task in done["tasks"] for shard in task["shards"]]
        if not shards and differences(before, now):
            return None
        refuse(self._directory.path, before, now)
        self._must_be_whole(shards, "--overwrite (overwrite=True) writes everything anew")
        return self._summary(done, True)

    def _must_be_whole(self, shards: list[dict[str, Any]], hint: str) -> None:
        """Raise JobError, whose message ends with `hint`, if a file of a shard is missing or has another size."""
        if (path := changed_shard(self._directory.path, shards)) is not None:
            raise JobError(f"{path} was finished, but is missing or has changed: {hint}")

    # -- existing files

    def _begin_anew(self, clear: bool) -> bool:
        """Claim the directory, with `clear` after removing an earlier job's files. Foreseeable errors come first.

        Return False if another process has claimed the directory.
        """
        directory, options = self._directory, self._options
        if clear:  # else the directory was empty
            ours = {MANIFEST, *directory.belongings()}
            there = [*shard_files(directory.path, self._request, OUTPUTS), BAD_RECORDS, *merged_files(options.format)]
            others = [name for name in there if name not in ours]
            refuse_taken(
                directory.path, [name for name in others if self._storage.is_there(os.path.join(directory.path, name))]
            )
            self._try()
            if options.held_out is None:  # first: without a manifest, they would be files of another program
                directory.clear_held_out()
            directory.clear()
        return directory.begin(self._request)

    def _try(self) -> None:
        """Read the start of the first file, to notice a missing column."""
        reading = self._options.reading(min(self._work.batch_bytes, _TRIED_BYTES), 1)
        documents: Any = read_documents(self._tasks[0].files[0], reading)
        with contextlib.closing(documents):
            next(documents, None)

    def _goes_on(self, before: dict[str, Any]) -> bool:
        """Whether this request may resume the earlier request `before`. If so, take over its spelling of names.

        A changed input is accepted if the tasks keep their files and its own task is not finished.
        """
        now, path = continued(before, self._request), self._directory.path
        if not are_same_files(before["inputs"], now["inputs"]) or differences({**before, "inputs": now["inputs"]}, now):
            return False
        then, tasks = plan(before, path), plan(now, path)
        old, new = ([[file.address for file in task.files] for task in each] for each in (then, tasks))
        if old != new:
            return False
        changed = [task for was, task in zip(then, tasks, strict=True) if was != task]
        if changed and self._options.deduplicate:  # duplicates in other tasks depend on the change
            return False
        if any(state is not None and state.done for state in map(self._state, changed)):
            return False
        if now != before:
            self._directory.place_file(os.path.join(PLACE, JOB), [json.dumps(now).encode()])
        self._request, self._tasks = now, tasks
        return True

    # -- tasks

    def _do(self, runner: Runner) -> None:
        """Run the remaining tasks. Deduplication runs each task twice: first to hash its documents, then, when all are
        hashed and chosen, to write them."""
        left = []
        states = list(self._storage.map(self._state, self._tasks))
        finished = self._storage.map(self._is_finished, states)
        for task, state, is_finished in zip(self._tasks, states, finished, strict=True):
            if state is None or not is_finished:
                left.append(task)
            else:
                self._counts[task.name] = state.counts
                self._sum = self._sum.plus(state.counts)
                self._done[task.name] = ShardSummary(task.output, state.shards, state.counts, None)
        self._before = self._sum
        while left:
            left = self._run_tasks(left, runner)
            if left:
                choosing.choose([(state_path(task.output), task.files) for task in self._tasks], self._options)

    def _run_tasks(self, left: Sequence[Task], runner: Runner) -> list[Task]:
        """Run tasks. Return the tasks which have only hashed their documents. Raises the errors of `raise_for`."""
        failures, has_result, hashed = [], set(), []
        self._tell()
        for task, result in runner(left, self._work, self._progress):
            has_result.add(task.name)
            if not isinstance(result, ShardSummary):
                failures.append(result if isinstance(result, Failure) else failure_of(result))
                continue
            if result.counts != self._counts.get(task.name):
                self._progress(task, result.counts)
            if result.is_hashed:
                hashed.append(task)
            else:
                self._done[task.name] = result
        if not failures and len(has_result) < len(left):
            name = next(task.name for task in left if task.name not in has_result)
            failures.append(Failure("error", f"task {name} has no result"))
        raise_for(failures, len(self._tasks) - len(self._done), len(self._tasks))
        return hashed

    def _is_finished(self, state: State | None) -> bool:
        return state is not None and state.done and changed_shard(self._directory.path, state.shards) is None

    def _state(self, task: Task) -> State | None:
        return load(os.path.join(self._directory.place, f"{task.name}.json"))

    def _progress(self, task: Task, counts: Counts) -> None:
        was = self._counts.get(task.name, Counts())
        self._sum = Counts(*(a - b + c for a, b, c in zip(self._sum, was, counts, strict=True)))
        self._counts[task.name] = counts
        self._tell()

    def _tell(self) -> None:
        if self._report is not None:
            self._report(JobProgress(self._sum, self._before, self._input_bytes, time.monotonic() - self._began))

    # -- the end

    def _finish(self) -> Summary:
        directory, format = self._directory, self._options.format
        tasks: list[dict[str, Any]] = []
        for task in self._tasks:
            inputs = [list(file[:2]) for file in task.files]
            tasks.append({"inputs": inputs, "shards": list(self._done[task.name].shards)})
        shards = [shard for task in tasks for shard in task["shards"]]
        self._must_be_ours(shards)
        merged = []
        for name in merged_files(format):
            names = [shard["name"] for shard in shards]
            parts = self._storage.map(lambda shard: self._read(os.path.join(directory.path, shard, name)), names)  # noqa: B023
            data = FORMATS[format].merge(zip(names, parts, strict=True))
            directory.place_file(name, [data])
            merged.append({"name": name, "bytes": len(data)})
        if self._sum.bad_records:
            directory.place_file(BAD_RECORDS, self._bad_records())
        settings = {key: value for key, value in self._request.items() if key not in ("inputs", "tokenizer")}
        written = {  # neither times nor the machine, so that repeated jobs write the same bytes
            "schema": SCHEMA,
            "settings": settings,
            "tokenizer": self._request["tokenizer"],
            **self._facts,
            "counts": self._sum._asdict(),
            "tasks": tasks,
            "merged": merged,
        }
        directory.place_file(MANIFEST, _json(written))
        directory.settle()
        return self._summary(written, False)

    def _must_be_ours(self, shards: list[dict[str, Any]]) -> None:
        """Raise JobError if another process has begun anew in the directory."""
        if (now := self._directory.job()) is None:
            raise JobError(f"{self._directory.path}: another process has removed this job")
        refuse(self._directory.path, now, self._request)
        self._must_be_whole(shards, "has another process begun anew here? Run the same command again to continue")

    def _bad_records(self) -> Iterator[bytes]:
        for task in self._tasks:
            if self._done[task.name].counts.bad_records:
                yield self._read(f"{state_path(task.output)}.bad-records.jsonl")

    def _read(self, path: str) -> bytes:
        if (data := self._storage.read(path)) is None:
            raise gone(path)
        return data

    def _summary(self, written: dict[str, Any], already_done: bool) -> Summary:
        counts = Counts(**written["counts"])
        shards = [shard for task in written["tasks"] for shard in task["shards"]]
        files = [file for shard in shards for file in shard["files"]] + written["merged"]
        before = counts if already_done else self._before
        return Summary(
            output=self._directory.path,
            format=self._options.format,
            counts=counts,
            tasks=len(written["tasks"]),
            shards=len(shards),
            output_bytes=sum(file["bytes"] for file in files),
            seconds=time.monotonic() - self._began,
            tokenized=Counts(*(a - b for a, b in zip(counts, before, strict=True))),
            sequences=sequences_of(shards, counts.tokens, self._options.sequence_length),
            already_done=already_done,
        )


def _outside(directory: str, inputs: Any, format: str | None) -> list[InputFile]:
    """The input files outside the output directory."""
    inside = os.path.join(os.path.realpath(directory), "")
    found = inputs_of(inputs, format)
    if not found:
        raise ValueError("no inputs found: give a file, a directory, a pattern or an address")
    files = [file for file in found if not os.path.realpath(file.address).startswith(inside)]
    if not files:
        raise CorpusError(f"all inputs are in the output directory {directory}")
    return files


def _json(value: Any) -> list[bytes]:
    return [json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"]
