"""`tokenize_corpus`: many files to a directory of token files, on all cores, again and again until it is done."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.corpora import storage
from crayon_hf.corpora.formats import FORMATS
from crayon_hf.corpora.job import choosing
from crayon_hf.corpora.job.directory import BAD_RECORDS, HELD_OUT, MANIFEST, Directory
from crayon_hf.corpora.job.failures import Failure, failure_of, interrupt_behind, raise_for
from crayon_hf.corpora.job.job_spec import are_same_files, continued, differences, refuse, request_of
from crayon_hf.corpora.job.mixture import sources_of
from crayon_hf.corpora.job.options import BATCH_BYTES, MAX_DOCUMENT_BYTES, Options, positive
from crayon_hf.corpora.job.owned_files import refuse_taken, taken
from crayon_hf.corpora.job.plan import GROUP_BYTES, Task, plan
from crayon_hf.corpora.job.progress import JobProgress, Report
from crayon_hf.corpora.job.shard import ShardSummary, forget_shard, is_whole, state_path
from crayon_hf.corpora.job.state import Counts, State, load
from crayon_hf.corpora.job.summary import Summary, manifest, sequences_of
from crayon_hf.corpora.storage import waiting
from crayon_hf.errors import CorpusError, JobError
from crayon_hf.text_readers.documents import InputFile, format_of
from crayon_hf.text_readers.files import check_files, read_documents
from crayon_hf.util import validation as checks

if TYPE_CHECKING:
    from crayon_hf.corpora.job.encoder import JobTokenizer
    from crayon_hf.tokenizer import Tokenizer

_TRIED_BYTES = 1 << 16

Runner = Callable[
    [Sequence[Task], "JobTokenizer", Options, Callable[[Task, Counts], None]],
    Iterator[tuple[Task, "ShardSummary | Failure | Exception"]],
]
"""What does tasks: `run_shard` for each, anywhere, in any order. It may tell how far a task is, and gives what came of
each one; what it has not given when it ends is not done."""

Here = Callable[[Sequence[Task], int, Callable[[Task, Counts], None]], list[Failure]]
"""Does tasks on this machine, with the job's lock: what failed."""


def tokenize_corpus(
    inputs: str | os.PathLike[str] | InputFile | Sequence[str | os.PathLike[str] | InputFile] | Mapping[str, Any],
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
    held_out: float | None = None,
    batch_bytes: int = BATCH_BYTES,
    max_document_bytes: int = MAX_DOCUMENT_BYTES,
    group_bytes: int = GROUP_BYTES,
    workers: int | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    progress: Report | None = None,
    runner: Runner | None = None,
) -> Summary:
    """Tokenize files into a directory: see `tokenize_shard`, which does each task, for the arguments that it has, too.

    Files are taken in order, small ones together; each such task gives ``OUT/00000`` and so on. At the end there is
    ``OUT/manifest.json``. A call that ended early, by an error or a kill, is made again and goes on; the bytes in the
    end are those of a call that nothing happened to. A call for what is done does nothing.

    Args:
        inputs: Files, directories, patterns, addresses of fsspec; what lies in `output` is not read. Or a mixture:
            ``{"web": {"inputs": ["web/"], "proportion": 0.7}, "code": {...}}``, which is shuffled.
        output: A directory: new, empty, or this job's.
        group_bytes: As many files go together as have no more bytes than that, as stored.
        workers: Processes, at most one a task; without it one for each two cores, for packed files one for each core.
            One means this process itself.
        threads: Of each worker, to encode with; without it the cores are divided among the workers.
        shuffle: The order of the files, too, is ``numpy.random.default_rng(seed).permutation``.
        deduplicate: Of documents with the same text in all inputs the first one is taken. Inputs are read twice.
        held_out: A share of the documents that goes to ``OUT/held-out``, by the hash of each text.
        overwrite: Begin anew, and remove what another job of ours wrote there. Files of others are never removed.
        progress: Called after every batch, in this thread or another.
        runner: Does the tasks instead of processes of this machine.

    Raises:
        JobError: The directory is another job's or has other files; or tasks failed, and the others were done.
        BadRecordError: A bad record, with `bad_records` "stop"; the other workers were stopped.
        CorpusError: An input is not there.

    docs/corpora.md has examples.
    """
    options = Options(
        format, input_format, column, template, separator, append_eos, eos, add_special_tokens, bad_records,
        shuffle or isinstance(inputs, Mapping),
        seed, max_tokens_per_shard, max_document_bytes, sequence_length, packing, remainder, pad_token,
        deduplicate, held_out,
    ).checked()  # fmt: skip
    group_bytes = positive(group_bytes, "group_bytes")
    batch_bytes = positive(batch_bytes, "batch_bytes")
    workers = None if workers is None else positive(workers, "workers")
    threads = None if threads is None else checks.unsigned(threads, "threads", 16)
    begin_anew = checks.flag(overwrite, "overwrite")
    from crayon_hf.corpora.job.encoder import job_tokenizer

    opened = job_tokenizer(tokenizer)
    place = storage.normal(os.fspath(output))
    if isinstance(inputs, Mapping):
        inputs, mixture = sources_of(inputs, lambda each: _outside(place, each, options.input_format))
        options = options._replace(mixture=mixture)

    def directory_of(path: str) -> Directory:
        return Directory(path, lambda request: [task.name for task in _planned(request, path)])

    job = _Job(directory_of(place), inputs, options, opened, group_bytes, batch_bytes, progress)
    sides = [job]
    if options.held_out is not None:
        directory = directory_of(os.path.join(place, HELD_OUT))
        aside = options._replace(is_held_out=True)
        if options.mixture is not None:  # nothing is held out twice
            aside = aside._replace(mixture=tuple((*source[:2], min(source[2], 1.0)) for source in options.mixture))
        sides.append(_Job(directory, job.files, aside, opened, group_bytes, batch_bytes, progress))

    def here(side: _Job) -> Here:
        return lambda tasks, lock, progress: _here(
            tasks, opened, side.options, batch_bytes, workers, threads, lock, progress
        )

    made = [(not begin_anew and side.already_done()) or side.run(begin_anew, runner, here(side)) for side in sides]
    return made[0]._replace(held_out=made[1] if len(made) > 1 else None)


class _Job:
    """One call."""

    def __init__(
        self,
        directory: Directory,
        inputs: Any,
        options: Options,
        tokenizer: JobTokenizer,
        group_bytes: int,
        batch_bytes: int,
        report: Report | None,
    ) -> None:
        from crayon_hf.corpora.job.encoder import plan_encoding

        self._directory, self._tokenizer, self._report = directory, tokenizer, report
        self.options = self._options = options
        self._storage = storage.of(directory.path)
        directory.check()
        encoding = plan_encoding(tokenizer, options, 1)  # what is wrong with the tokenizer is said at once
        self._facts = {"dtype": encoding.encoder.dtype.name, "eos_id": encoding.settings.vocabulary.eos_id}
        if options.remainder == "pad":
            self._facts["pad_id"] = encoding.pad_id
        self.files = files = _outside(directory.path, inputs, options.input_format)
        check_files(files, options.reading(batch_bytes, 0))
        self._group_bytes, self._batch_bytes = group_bytes, batch_bytes
        self._request = {**request_of(files, options, tokenizer), "group_bytes": group_bytes}
        self._tasks = self._plan(self._request)
        self._input_bytes = sum(task.bytes for task in self._tasks)
        self._began = time.monotonic()
        self._counts: dict[str, Counts] = {}
        self._sum = self._before = Counts()

    def already_done(self) -> Summary | None:
        """The summary of a job that is done, and of which nothing is left to do. JobError for another one."""
        if (done := self._directory.manifest()) is None or not self._directory.is_settled:
            return None
        return self._found(done)

    def run(self, overwrite: bool, runner: Runner | None, here: Here) -> Summary:
        directory = self._directory
        lock = directory.lock()
        try:
            done = None if overwrite else directory.manifest()
            if done is not None and (summary := self._found(done)) is not None:
                directory.settle()  # only what was needed to go on is there still
                return summary
            if overwrite or done is not None or (before := directory.job()) is None:
                self._begin_anew()
            elif not self._goes_on(before):
                if any(state.shards for state in directory.states().values()):
                    refuse(directory.path, before, self._request)
                self._begin_anew()
            failures, undone = self._choose(runner, here, lock) if self._options.deduplicate else ([], 0)
            if not failures:
                failures, undone = self._do(runner, here, lock)
            raise_for(failures, undone, len(self._tasks))
            return self._finish()
        except KeyboardInterrupt:
            with waiting.in_haste():  # a store that does not answer is not asked again
                directory.unlock()
            raise
        finally:
            directory.unlock()

    def _found(self, done: dict[str, Any]) -> Summary | None:
        """The summary of this job, which is done. None for another one that has not one shard: nothing is lost then.
        JobError for another one."""
        before = {**done["settings"], "tokenizer": done["tokenizer"]}
        before["inputs"] = [file for task in done["tasks"] for file in task["inputs"]]
        now = {**self._request, "inputs": [list(file[:2]) for task in self._tasks for file in task.files]}
        shards = [shard for task in done["tasks"] for shard in task["shards"]]
        if not shards and differences(before, now):
            return None
        refuse(self._directory.path, before, now)
        wholes = self._storage.map(lambda shard: is_whole(self._directory.path, [shard]), shards)
        for shard, is_there in zip(shards, wholes, strict=True):
            if not is_there:
                path = os.path.join(self._directory.path, shard["name"])
                raise JobError(
                    f"{path} was done, and is gone or has changed: --overwrite (overwrite=True) makes everything anew"
                )
        return self._summary(done, True)

    # -- what is there

    def _begin_anew(self) -> None:
        """Whatever can be known to fail does so before anything is removed."""
        directory, options = self._directory, self._options
        ours = set(directory.belongings())
        outputs, is_limited = {task.name for task in self._tasks}, options.max_tokens_per_shard is not None
        names = [MANIFEST, BAD_RECORDS, *FORMATS[options.format].merged_files]
        there = [name for name in names if self._storage.is_there(os.path.join(directory.path, name))]
        there += taken(directory.path, options.format, outputs, is_limited)
        refuse_taken(directory.path, (name for name in there if name not in ours))
        if ours:
            self._try()
        directory.clear()
        if options.held_out is None:
            directory.clear_held_out()
        directory.begin(self._request)

    def _try(self) -> None:
        """Read the beginning of the first file: a column that is not there is noticed."""
        reading = self._options.reading(min(self._batch_bytes, _TRIED_BYTES), 1)
        documents: Any = read_documents(self._tasks[0].files[0], reading)
        with contextlib.closing(documents):
            next(documents, None)

    def _goes_on(self, before: dict[str, Any]) -> bool:
        """Whether this is the job that has begun; then it has that one's spelling of names from now on.

        An input that has changed is read anew, where that makes no other task and nothing of its own is finished.
        """
        if not are_same_files(before["inputs"], self._request["inputs"]):
            return False
        now = continued(before, self._request)
        if differences({**before, "inputs": now["inputs"]}, now):
            return False
        then, tasks = self._plan(before), self._plan(now)
        if [[file.address for file in task.files] for task in then] != [
            [file.address for file in task.files] for task in tasks
        ]:
            return False
        changed = [task for was, task in zip(then, tasks, strict=True) if was != task]
        if changed and self._options.deduplicate:  # what is left out elsewhere depends on it
            return False
        states = [(task, self._state(task)) for task in changed]
        if any(state is not None and state.shards for _, state in states):
            return False
        for task, state in states:
            if state is not None:
                forget_shard(task.output, state)
        if now != before:
            self._directory.begin(now)
        self._request, self._tasks = now, tasks
        return True

    def _plan(self, request: dict[str, Any]) -> list[Task]:
        return _planned(request, self._directory.path)

    # -- tasks

    def _choose(self, runner: Runner | None, here: Here, lock: int) -> tuple[list[Failure], int]:
        """The first pass where duplicates are left out: hash all documents, and say which are taken."""
        paths = [state_path(task.output) for task in self._tasks]
        if all(self._storage.map(choosing.is_chosen, paths)):
            return [], 0
        hashed = self._storage.map(choosing.has_hashes, paths)
        left = [task for task, is_hashed in zip(self._tasks, hashed, strict=True) if not is_hashed]
        failures = list(self._run_tasks(left, runner, here, lock))
        undone = sum(not is_hashed for is_hashed in self._storage.map(choosing.has_hashes, paths))
        if not undone:
            choosing.choose([(path, task.files) for path, task in zip(paths, self._tasks, strict=True)], self._options)
        elif not failures:
            failures.append(Failure("error", "a task has no hashes"))
        return failures, undone

    def _run_tasks(self, left: Sequence[Task], runner: Runner | None, here: Here, lock: int) -> Iterator[Failure]:
        """Do some tasks; what failed."""
        if not left:
            return
        self._tell()
        if runner is None:
            yield from here(left, lock, self._progress)
            return
        for task, result in runner(left, self._tokenizer, self._options, self._progress):
            if isinstance(result, ShardSummary):
                self._progress(task, result.counts)
            else:
                yield result if isinstance(result, Failure) else failure_of(result)

    def _do(self, runner: Runner | None, here: Here, lock: int) -> tuple[list[Failure], int]:
        """What failed, and how many tasks are not done."""
        left = []
        states = list(self._states(self._tasks))
        finished = self._storage.map(self._is_finished, states)
        for task, state, is_finished in zip(self._tasks, states, finished, strict=True):
            if state is not None:
                self._counts[task.name] = state.counts
                self._sum = self._sum.plus(state.counts)
            if not is_finished:
                left.append(task)
        self._before = self._sum
        failures = list(self._run_tasks(left, runner, here, lock))
        found = zip(left, self._states(left), strict=True)
        undone = [task for task, state in found if state is None or not state.done]
        if undone and not failures:
            failures.append(Failure("error", f"task {undone[0].name} has no result"))
        return failures, len(undone)

    def _is_finished(self, state: State | None) -> bool:
        return state is not None and state.done and is_whole(self._directory.path, state.shards)

    def _states(self, tasks: Sequence[Task]) -> Iterable[State | None]:
        return self._storage.map(self._state, tasks)

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
        total = Counts()
        for task, state in zip(self._tasks, self._states(self._tasks), strict=True):
            assert state is not None
            tasks.append({"inputs": [list(file[:2]) for file in task.files], "shards": list(state.shards)})
            total = total.plus(state.counts)
        shards = [shard["name"] for task in tasks for shard in task["shards"]]
        merged = [file._asdict() for file in self._storage.merge(FORMATS[format], directory.path, shards)]
        if total.bad_records:
            directory.place_file(BAD_RECORDS, self._bad_records())
        written = manifest(self._request, total, tasks, merged, self._facts)
        directory.place_file(MANIFEST, _json(written))
        directory.settle()
        return self._summary(written, False)

    def _bad_records(self) -> Iterator[bytes]:
        for task, state in zip(self._tasks, self._states(self._tasks), strict=True):
            if state is not None and state.bad_bytes:
                yield self._storage.read(os.path.join(self._directory.place, f"{task.name}.bad-records.jsonl")) or b""

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


def _planned(request: dict[str, Any], directory: str) -> list[Task]:
    """The tasks of what was asked for."""
    files = [InputFile(*file) for file in request["inputs"]]
    return plan(files, directory, request["group_bytes"], request["shuffle"], request["seed"], request.get("mixture"))


def _here(
    tasks: Sequence[Task],
    tokenizer: JobTokenizer,
    options: Options,
    batch_bytes: int,
    workers: int | None,
    threads: int | None,
    lock: int,
    progress: Callable[[Task, Counts], None],
) -> list[Failure]:
    """Do tasks on this machine; what failed."""
    from crayon_hf.corpora.job.workers import Pool

    available = _core.usable_cores()
    addresses = (address for task in tasks for address in (task.output, *(file.address for file in task.files)))
    in_memory = any(address.startswith("memory:") for address in addresses)  # of this process
    count = 1 if in_memory else min(len(tasks), workers or _workers(tasks, available))
    each = max(1, available // count) if threads is None else threads
    try:
        with Pool(count, options, tokenizer, batch_bytes, each, lock) as pool:
            return pool.run(tasks, progress, lambda line: print(f"crayon-hf: warning: {line}", file=sys.stderr))
    except Exception as error:
        interrupt = interrupt_behind(error)
        if interrupt is not None:
            raise interrupt from None
        raise


def _outside(directory: str, inputs: Any, format: str | None) -> list[InputFile]:
    """The input files, but for those in the output directory."""
    from crayon_hf.corpora.job.shard import inputs_of

    inside = os.path.join(os.path.realpath(directory), "")
    found = inputs_of(inputs, format)
    if not found:
        raise ValueError("there are no inputs: give a file, a directory, a pattern or an address")
    files = [file for file in found if not os.path.realpath(file.address).startswith(inside)]
    if not files:
        raise CorpusError(f"all inputs are in the output directory {directory}")
    return files


def _workers(tasks: Sequence[Task], cores: int) -> int:
    """One thread unpacks most files, so packed ones get a process for each core; else two cores share the reading."""
    packed = any(format_of(file.address)[1] for task in tasks for file in task.files)
    return cores if packed else (cores + 1) // 2


def _json(value: Any) -> list[bytes]:
    import json

    return [json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"]
