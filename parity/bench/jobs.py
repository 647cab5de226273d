"""Scenarios that are whole jobs: a training, a corpus, a file of any size, the opening of a directory, the calls of an
AutoTokenizer, a server.

Each job runs in fresh processes, the engines in turn. In every round the digest of an engine's output is compared with
the reference's.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from crayon_hf.formats import convert, write
from crayon_hf.formats.repository import CARTRIDGE, CONFIG, tokenizer_in
from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.inputs.texts import documents, find_text, read_text
from crayon_hf.parity.speed.figures import OURS, Figure, Report, Standing, value_of
from crayon_hf.parity.speed.inputs import Read, text_name
from crayon_hf.parity.speed.measuring import rotated
from crayon_hf.parity.speed.processes import Engine, Result, run_job

from .child.corpora import read_back
from .watching import Watch

__all__ = ["JOBS", "JobScenario", "measure_job"]

VOCAB_SIZE = 32_000
BATCH = 1000
CORPUS_FILES = 16
PROMPTS = {1_000: 64, 10_000: 16, 100_000: 2}
"""The number of prompts, by their size in tokens."""
STREAMS, STEPS = 256, 100
WORKERS = 64

CHILD = Path(__file__).parent / "child"
LIMIT = 3600.0
"""The most seconds for one job."""

Work = tuple[int, dict[str, Any]]
"""The size of the job's text in bytes, and the parameters for the module that does the job."""


@dataclass(frozen=True)
class JobScenario:
    """One kind of job. The module in ``child`` that does it has its name."""

    make: Callable[[Read, int, Path, Vocabulary], Work]
    """Takes a text, a size in bytes, a directory and a vocabulary. Writes the job's inputs in the directory."""
    unit: str
    engines: tuple[str, ...]
    """The names of the engines that can do the job. The first one is the reference."""
    bytes: int = 0
    """The default size of the text."""
    watched: tuple[str, ...] = ()
    """More figures of the job's processes: their ``memory``, ``processor`` time, and the bytes ``moved``."""


def _training(read: Read, size: int, directory: Path, vocabulary: Vocabulary) -> Work:
    """Write the inputs of a training: the text once, since repeated text would not add to a training."""
    path = directory / "text.txt"
    return path.write_bytes(read(size)), {"path": str(path), "vocab_size": VOCAB_SIZE}


def _file(read: Read, size: int, directory: Path, vocabulary: Vocabulary) -> Work:
    """Write the input of a job over one file: copies of the text, up to the size."""
    data, path = read(size), directory / "text.txt"
    copies = max(1, -(-size // len(data)))
    with path.open("wb") as file:
        for _ in range(copies):
            file.write(data)
    return copies * len(data), {"path": str(path), "tokenizer": _source(vocabulary)}


def _corpora(read: Read, size: int, directory: Path, vocabulary: Vocabulary) -> Work:
    """Write files of jsonl with documents of 2 KB, drawn from the text at random with a fixed seed."""
    pool, generator = list(documents(read(None))), random.Random(1)
    inputs = directory / "in"
    inputs.mkdir()
    files, written = [], 0
    for number in range(CORPUS_FILES):
        files.append(str(inputs / f"{number:05}.jsonl"))
        with open(files[-1], "w", encoding="utf-8") as file:
            while written < size * (number + 1) // CORPUS_FILES:
                text = generator.choice(pool)
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
                written += len(text.encode())
    return written, {"files": files, "tokenizer": _source(vocabulary)}


def _first_opening(read: Read, size: int, directory: Path, vocabulary: Vocabulary) -> Work:
    """Write the inputs of an opening: a directory with a cartridge, and one without. Take a text to encode."""
    from crayon_hf import AutoTokenizer

    plain, with_cartridge = directory / "plain", directory / "with-cartridge"
    _write_directory(vocabulary, plain)
    shutil.copytree(plain, with_cartridge)
    opened = AutoTokenizer.from_pretrained(str(plain), local_files_only=True)
    opened.backend_tokenizer.save(str(with_cartridge / CARTRIDGE))
    _make_old(with_cartridge / CARTRIDGE)
    text = read(size)
    return len(text), {"with_cartridge": str(with_cartridge), "plain": str(plain), "text": text.decode()}


def _transformers(read: Read, size: int, directory: Path, vocabulary: Vocabulary) -> Work:
    """Write the inputs of transformers' calls: documents from all parts of the text, and a directory to open."""
    _write_directory(vocabulary, directory / "snapshot")
    found = list(documents(read(None)))
    batch = found[:: max(1, len(found) // BATCH)][:BATCH]
    return sum(len(text.encode()) for text in batch), {"directory": str(directory / "snapshot"), "batch": batch}


def _server(read: Read, size: int, directory: Path, vocabulary: Vocabulary) -> Work:
    """Make the inputs of a model server: prompts and streams of ids, both taken from all parts of the text."""
    from crayon_hf import Tokenizer

    source = _source(vocabulary)
    text = read(20 * max(PROMPTS)).decode()
    encoding = Tokenizer.from_file(source).encode(text, add_special_tokens=False)
    ids, offsets = encoding.ids, encoding.offsets
    while len(offsets) <= max(PROMPTS):  # repeat a short text
        ids, offsets = ids * 2, offsets + [(begin + len(text), end + len(text)) for begin, end in offsets]
        text += text
    prompts: dict[str, list[str]] = {}
    for tokens, count in PROMPTS.items():
        begins = [i * (len(offsets) - tokens) // count for i in range(count)]
        prompts[f"{tokens:,}"] = [text[offsets[at][0] : offsets[at + tokens - 1][1]] for at in begins]
    streams = [ids[at : at + STEPS] for at in range(0, len(ids) - STEPS, (len(ids) - STEPS) // STREAMS)][:STREAMS]
    work = {"tokenizer": source, "prompts": prompts, "streams": streams, "workers": WORKERS}
    return sum(len(prompt.encode()) for of_size in prompts.values() for prompt in of_size), work


def _source(vocabulary: Vocabulary) -> str:
    """Return the path of the ``tokenizer.json`` that all engines of a job open."""
    return vocabulary.json or str(vocabulary.path)


def _write_directory(vocabulary: Vocabulary, to: Path) -> None:
    """Write the directory that a job opens: the tokenizer's files as they are, but no cartridge.

    A file, or a directory without settings, is converted to a directory that every release of transformers opens.
    """
    source = Path(vocabulary.ours or vocabulary.path)
    names = [*tokenizer_in(str(source.parent)), *(["config.json"] if source.with_name("config.json").exists() else [])]
    if source.name in names and {CONFIG, "config.json"} & {*names}:
        for name in {*names} - {CARTRIDGE}:
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source.parent / name, to / name)
    else:
        write(convert(_source(vocabulary)), to, cartridge=False)
    for file in to.rglob("*"):
        _make_old(file)


def _make_old(file: Path) -> None:
    """Date a file back, so that it counts as unchanging."""
    os.utime(file, (time.time() - 3600,) * 2)


JOBS = {
    "training": JobScenario(_training, "s", ("tokenizers", OURS, "rustbpe", "gigatoken"), 20_000_000, ("memory",)),
    "corpora": JobScenario(
        _corpora,
        "MB/s",
        ("encode_ragged", OURS, "gigatoken", "datatrove", "crayon_in_datatrove"),
        200_000_000,
        ("memory", "processor", "moved"),
    ),
    "file": JobScenario(_file, "MB/s", ("encode_ragged", OURS), 200_000_000, ("memory",)),
    "first-opening": JobScenario(_first_opening, "ms", ("transformers", OURS, "no_cartridge", "no_cache"), 100),
    "transformers": JobScenario(_transformers, "\u00b5s", ("transformers", OURS)),
    "server": JobScenario(_server, "\u00b5s", ("tokenizers", OURS, "fastokens", "prerelease")),
}
"""The scenarios that run only if the command line names them."""


def measure_job(
    name: str,
    vocabulary: Vocabulary,
    specs: Sequence[str],
    report: Report,
    engines: Sequence[Engine],
    threads: int,
    rounds: int,
    bytes: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Run a job on the text of each of the `specs`, and add the figures to a report.

    Our engine and the reference always run. The job's other engines run only if they are in `engines`.
    """
    scenario = JOBS[name]
    reference = scenario.engines[0]
    given = {engine.name: engine for engine in engines}
    running = [given.get(each, Engine(each)) for each in scenario.engines if each in {reference, OURS, *given}]
    for spec in specs:
        with TemporaryDirectory(prefix="crayon-bench-job-") as directory:
            read = partial(read_text, find_text(spec))
            size, work = scenario.make(read, bytes or scenario.bytes, Path(directory), vocabulary)
            text = f"{text_name(spec)} {size / 1e6:.1f} MB"
            digests: dict[str, dict[str, set[str]]] = {}
            for number, engine in ((done, each) for done in range(rounds) for each in rotated(running, done)):
                standing = report.standings.setdefault(engine.name, Standing(engine.name))
                if standing.cannot_open or text in standing.failed:
                    continue
                progress(f"{report.vocabulary}: round {number + 1}, {name}, {engine.name}")
                result, watch = _run(name, engine, work, threads)
                if result["status"] != "ok":
                    if result.get("missing"):
                        standing.cannot_open, standing.missing = result["says"], True
                    standing.failed[text] = result["says"]
                    continue
                standing.version = result["version"]
                for call, cell in result.get("cells", {"": result}).items():
                    of = f"{text}, {call}" if call else text
                    digests.setdefault(of, {}).setdefault(engine.name, set()).add(cell.get("digest", ""))
                    for title, unit, value, cpu in _figures(name, cell, watch, size):
                        report.add(Figure(title, of, threads, engine.name, call or name, "", unit, value, cpu))
        for of, found in digests.items():
            report.texts[of] = {"bytes": size, "documents": 1, "tokens": 0}
            for differing in (each for each in found if found[each] != found.get(reference)):
                report.standings[differing].differing[of] = 1
                report.same_ids = report.same_ids and differing != OURS


def _run(name: str, engine: Engine, work: dict[str, Any], threads: int) -> tuple[Result, Watch]:
    watch = Watch()
    with TemporaryDirectory(prefix="crayon-bench-work-") as directory:
        kind, output = name.replace("-", "_"), f"{directory}/out"
        step = {**work, "kind": kind, "name": name, "output": output, "limit": LIMIT}
        started, before = time.perf_counter(), os.times()
        outcome = run_job(engine, None, [step], threads, more=[CHILD], on_start=watch.begin)
        seconds, after = time.perf_counter() - started, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        result = {"wall": seconds, "cpu": cpu, **outcome.steps[name]}  # the process's times, unless the step has some
        if result["status"] == "ok" and os.path.isdir(output):  # token ids in files
            try:
                result["digest"] = read_back(output)
            except (OSError, ValueError, IndexError) as error:
                result |= {"status": "failed", "says": f"its files cannot be read: {error}"}
    return result, watch


def _figures(name: str, cell: Result, watch: Watch, size: int) -> Iterator[tuple[str, str, list[float], list[float]]]:
    """Yield the title, the unit, the value, and the value by processor time of each figure of a cell."""
    unit = JOBS[name].unit
    if "amount" in cell:  # not a time
        yield name, cell["unit"], [cell["amount"]], []
    else:
        yield name, unit, [value_of(cell["wall"], size, unit)], [value_of(cell["cpu"], size, unit)]
    watched = {"memory": ("MB", watch.peak_mb), "processor": ("s/GB", cell.get("cpu", 0.0) * 1e9 / size)}
    watched["moved"] = ("B/B", sum(watch.moved.values()) / size)
    yield from ((f"{name}, {what}", watched[what][0], [watched[what][1]], []) for what in JOBS[name].watched)
