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
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from crayon_hf.formats import convert, write
from crayon_hf.parity.compare.references import Vocabulary
from crayon_hf.parity.inputs.texts import DOCUMENT_BYTES, documents, find_text, read_text
from crayon_hf.parity.speed.figures import OURS, Figure, Report, Standing
from crayon_hf.parity.speed.inputs import text_name
from crayon_hf.parity.speed.measuring import in_turns
from crayon_hf.parity.speed.processes import Engine, Result, run_job
from crayon_hf.parity.speed.vocabularies import prepare

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
    """One kind of job."""

    kind: str
    """The module in ``child`` that does the job."""
    engines: tuple[str, ...]
    """The names of the engines that can do the job. The first one is the reference."""
    bytes: int
    """The default size of the text."""
    unit: str
    make: Callable[[str, int, str, Vocabulary | None], Work]
    """Takes a text's spec, a size in bytes, a directory and a vocabulary. Writes the job's inputs in the directory."""
    measures_memory: bool = True
    moves_text: bool = False
    """Whether to measure the bytes read and written for each byte of text."""


def _training(spec: str, size: int, directory: str, vocabulary: Vocabulary | None) -> Work:
    """Write the inputs of a training: the text once, since repeated text would not add to a training."""
    data = read_text(find_text(spec), size)
    path = Path(directory) / "text.txt"
    path.write_bytes(data)
    return len(data), {"path": str(path), "vocab_size": VOCAB_SIZE}


def _file(spec: str, size: int, directory: str, vocabulary: Vocabulary | None) -> Work:
    """Write the input of a job over one file: copies of the text, up to the size."""
    assert vocabulary is not None
    data = read_text(find_text(spec), size)
    copies = max(1, -(-size // len(data)))
    path = Path(directory) / "text.txt"
    with open(path, "wb") as file:
        for _ in range(copies):
            file.write(data)
    return copies * len(data), {"file": str(path), "tokenizer": prepare(vocabulary, directory)["json"]}


def _corpora(spec: str, size: int, directory: str, vocabulary: Vocabulary | None) -> Work:
    """Write files of jsonl with documents of 2 KB, drawn from the text at random with a fixed seed."""
    assert vocabulary is not None
    pool = list(documents(read_text(find_text(spec)), DOCUMENT_BYTES))
    generator = random.Random(1)
    inputs = Path(directory) / "in"
    inputs.mkdir()
    files, written = [], 0
    for number in range(CORPUS_FILES):
        files.append(str(inputs / f"{number:05}.jsonl"))
        with open(files[-1], "w", encoding="utf-8") as file:
            while written < size * (number + 1) // CORPUS_FILES:
                text = generator.choice(pool)
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
                written += len(text.encode())
    return written, {"files": files, "tokenizer": prepare(vocabulary, directory)["json"]}


def _opening(spec: str, size: int, directory: str, vocabulary: Vocabulary | None) -> Work:
    """Write the inputs of an opening: a directory with a cartridge, and one without. Take a text to encode."""
    assert vocabulary is not None
    with_cartridge, plain = Path(directory, "with-cartridge"), Path(directory, "plain")
    write(convert(vocabulary.path), with_cartridge)
    shutil.copytree(with_cartridge, plain, ignore=shutil.ignore_patterns("*.dat"))
    for file in (*with_cartridge.iterdir(), *plain.iterdir()):
        _make_old(file)
    text = read_text(find_text(spec), size).decode(errors="ignore")
    step = {"with_cartridge": str(with_cartridge), "plain": str(plain), "text": text}
    return len(text.encode()), step


def _make_old(file: Path) -> None:
    """Date a file back, so that it counts as unchanging."""
    os.utime(file, (time.time() - 3600,) * 2)


def _transformers(spec: str, size: int, directory: str, vocabulary: Vocabulary | None) -> Work:
    """Write the inputs of transformers' calls: documents from all parts of the text, and a Hub snapshot's files."""
    assert vocabulary is not None
    found = list(documents(read_text(find_text(spec)), DOCUMENT_BYTES))
    batch = found[:: max(1, len(found) // BATCH)][:BATCH]
    path = Path(directory) / "batch.json"
    path.write_text(json.dumps(batch), encoding="utf-8")
    snapshot = Path(directory) / "snapshot"
    snapshot.mkdir()
    for file in (vocabulary.path if vocabulary.path.is_dir() else vocabulary.path.parent).iterdir():
        if file.name.startswith("tokenizer") or file.name == "special_tokens_map.json":
            shutil.copyfile(file, snapshot / file.name)
            _make_old(snapshot / file.name)
    return sum(len(text.encode()) for text in batch), {"directory": str(snapshot), "batch": str(path)}


def _server(spec: str, size: int, directory: str, vocabulary: Vocabulary | None) -> Work:
    """Write the inputs of a model server: prompts and streams of ids, both taken from all parts of the text."""
    from crayon_hf import Tokenizer

    assert vocabulary is not None
    source = prepare(vocabulary, directory)["json"]
    tokenizer = Tokenizer.from_file(source)
    text = read_text(find_text(spec), 20 * max(PROMPTS)).decode(errors="ignore")
    encoding = tokenizer.encode(text, add_special_tokens=False)
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


JOBS = {
    "training": JobScenario("training", ("tokenizers", OURS, "rustbpe", "gigatoken"), 20_000_000, "s", _training),
    "corpora": JobScenario(
        "corpora",
        ("encode_ragged", OURS, "gigatoken", "datatrove", "crayon_in_datatrove"),
        200_000_000,
        "MB/s",
        _corpora,
        moves_text=True,
    ),
    "file": JobScenario("file", ("encode_ragged", OURS), 200_000_000, "MB/s", _file),
    "first-opening": JobScenario(
        "opening", ("transformers", OURS, "no_cartridge", "no_cache"), 100, "ms", _opening, measures_memory=False
    ),
    "transformers": JobScenario(
        "transformers_calls", ("transformers", OURS), 0, "\u00b5s", _transformers, measures_memory=False
    ),
    "server": JobScenario(
        "serving", ("tokenizers", OURS, "fastokens", "prerelease"), 0, "\u00b5s", _server, measures_memory=False
    ),
}
"""The scenarios that run only if the command line names them."""


def measure_job(
    name: str,
    vocabulary: Vocabulary | None,
    specs: Sequence[str],
    report: Report,
    *,
    engines: Sequence[Engine],
    threads: int = 1,
    rounds: int = 3,
    bytes: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Run a job on the text of each of the `specs`, and add the figures to a report.

    `vocabulary` is None for a training, which needs none.

    Our engine and the reference always run. The job's other engines run only if they are in `engines`.
    """
    scenario = JOBS[name]
    reference = scenario.engines[0]
    given = {engine.name: engine for engine in engines}
    running = [given.get(each, Engine(each)) for each in scenario.engines if each in {reference, OURS, *given}]
    for spec in specs:
        digests: dict[tuple[str, str], set[str]] = {}
        with TemporaryDirectory(prefix="crayon-bench-job-") as directory:
            size, job = scenario.make(spec, bytes or scenario.bytes, directory, vocabulary)
            text = f"{text_name(spec)} {size / 1e6:.1f} MB"
            for number, engine in in_turns(running, rounds):
                standing = report.standings.setdefault(engine.name, Standing(engine.name))
                if standing.cannot_open or text in standing.failed:
                    continue
                progress(f"{report.vocabulary}: round {number + 1}, {name}, {engine.name}")
                result, watch = _run(name, engine, job, threads, engine.name == reference)
                if result["status"] != "ok":
                    if result.get("missing"):
                        standing.cannot_open, standing.missing = result["says"], True
                    standing.failed[text] = result["says"]
                    continue
                standing.version = result["version"]
                for call, cell in result.get("cells", {"": result}).items():
                    of = f"{text}, {call}" if call else text
                    digests.setdefault((of, engine.name), set()).add(cell["digest"])
                    for figure in _figures(name, of, threads, engine.name, call, cell, watch, size):
                        report.add(figure)
        for (of, engine_name), found in digests.items():
            report.texts[of] = {"bytes": size, "documents": 1, "tokens": 0}
            if engine_name != reference and found != digests.get((of, reference)):
                report.standings[engine_name].differing[of] = 1
                report.same_ids = report.same_ids and engine_name != OURS


def _run(name: str, engine: Engine, job: dict[str, Any], threads: int, is_reference: bool) -> tuple[Result, Watch]:
    watch = Watch()
    with TemporaryDirectory(prefix="crayon-bench-work-") as work:
        step = {**job, "kind": JOBS[name].kind, "name": name, "output": f"{work}/out", "limit": LIMIT}
        started, before = time.perf_counter(), os.times()
        outcome = run_job(engine, None, [step], threads, more=[CHILD], on_start=watch.begin)
        seconds, after = time.perf_counter() - started, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        result = {"wall": seconds, "cpu": cpu, **outcome.steps[name]}  # the process's times, unless the step has some
        if name == "corpora" and result["status"] == "ok" and not is_reference:
            try:
                result["digest"] = read_back(step["output"], _width(job["tokenizer"]))
            except (OSError, ValueError) as error:
                result |= {"status": "failed", "says": f"its files cannot be read: {error}"}
    return result, watch


def _width(tokenizer: str) -> int:
    from crayon_hf.tokenizer.resolve import open_tokenizer

    return 2 if open_tokenizer(tokenizer).get_vocab_size() <= 1 << 16 else 4


def _figures(
    name: str, text: str, threads: int, engine: str, call: str, cell: Result, watch: Watch, size: int
) -> Iterator[Figure]:
    scenario = JOBS[name]

    def figure(what: str, unit: str, value: float, cpu: Sequence[float] = ()) -> Figure:
        title = f"{name}, {what}" if what else name
        return Figure(title, text, threads, engine, call or name, "", unit, [value], list(cpu))

    if "amount" in cell:  # not a time
        yield figure("", cell["unit"], cell["amount"])
    elif scenario.unit == "MB/s":
        yield figure("", "MB/s", size / 1e6 / cell["wall"], [size / 1e6 / cell["cpu"]])
    else:
        per = {"\u00b5s": 1e6, "ms": 1e3, "s": 1.0}[scenario.unit]
        yield figure("", scenario.unit, cell["wall"] * per, [cell["cpu"] * per])
    if scenario.measures_memory:
        yield figure("memory", "MB", watch.peak_mb)
    if scenario.moves_text:
        yield figure("processor", "s/GB", cell["cpu"] * 1e9 / size)
        yield figure("moved", "B/B", watch.moved / size)
