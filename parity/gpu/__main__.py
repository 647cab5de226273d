"""``python -m parity.gpu -o report/``: compare a GPU with the CPU, and measure it, within some minutes."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from crayon_hf.cli.tokenizers import local_name
from crayon_hf.errors import CrayonError
from crayon_hf.parity.compare.children import child_command
from crayon_hf.parity.inputs.texts import UnknownVocabularyError
from crayon_hf.parity.speed.child.serve import OPENING
from crayon_hf.parity.speed.processes import Result, run_tasks
from crayon_hf.util.progress import Progress

from . import building, cases, environment, failures, repeats, sanitizer, speed, subjects
from .child import add_modules
from .report import PASS, STEPS, Report
from .sizes import STAND_IN, sizes_for

PASSED, FAILED = 0, 1
DEVICES = ("auto", "cuda", "rocm", STAND_IN)
SHARES = {"environment": 1, "ids": 8, "repeats": 2, "sanitizer": 4, "speed": 7}
"""The steps' shares of the time. A step's unused time goes to the later steps."""
_BUILD_SHARE = 0.4
_SAVE_SECONDS = 2.0
_OPENING_SECONDS = 60.0
"""The time limit for opening a device. Opening takes long if a driver compiles for a new device."""

DESCRIPTION = """\
Compares the ids of a GPU with the CPU's, worst inputs first. Looks for results that change from run to run. Tries
threads, streams and little memory. Runs compute-sanitizer if it is on PATH. Measures speed.

DIR gets report.json, report.md, log.txt, every failing input (failures/) and the output of compute-sanitizer. The
report is rewritten after each step, and a crash or a hang is a result. If the package has no engine for the GPU, one is
built into DIR, provided that this machine has a compiler and a source tree.

The exit status is 0 when all ids are equal and nothing failed, 1 otherwise, 2 for wrong usage.

    python -m parity.gpu -o report/                          ten minutes of this machine's GPU
    python -m parity.gpu -o report/ --minutes 2 -t my-model/ a shorter run, one vocabulary
    python -m parity.gpu -o report/ --device stand-in        without a GPU, on the CPU
"""


def _positive(text: str) -> float:
    if not (value := float(text)) > 0:
        raise argparse.ArgumentTypeError(f"{text}: expected more than 0")
    return value


def _steps(text: str) -> list[str]:
    if unknown := [step for step in text.split(",") if step not in STEPS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]}: expected some of {', '.join(STEPS)}")
    return text.split(",")


def make_parser() -> argparse.ArgumentParser:
    """Make the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m parity.gpu", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("-o", "--output", required=True, type=Path, metavar="DIR", help="the directory for the report")
    of_device = "auto: cuda, else rocm; stand-in: the CPU runs the kernels, slowly, which says nothing of speed"
    add("--device", choices=DEVICES, default="auto", help=f"{of_device} (default: %(default)s)")
    of_minutes = "the time limit; sizes shrink with it (default: %(default)g)"
    add("--minutes", type=_positive, default=10.0, metavar="N", help=of_minutes)
    of_names = "gpt2, llama3 and o200k_base of CRAYON_SHARED, else the packaged profiles"
    add("-t", "--tokenizer", action="append", default=[], metavar="NAME_OR_PATH",
        help=f"a vocabulary to time; may be repeated (default: {of_names})")  # fmt: skip
    of_limit = "a batch or a measurement that takes longer counts as a hang (default: a tenth of the time, at least 10)"
    add("--limit", type=_positive, metavar="SECONDS", help=of_limit)
    add("--sizes", type=_positive, metavar="N", help="sizes as for N minutes (default: --minutes)")
    of_only = "for ids and speed, only tasks whose name in the report contains WORDS"
    add("--only", default="", metavar="WORDS", help=of_only)
    add("--steps", type=_steps, default=list(STEPS), metavar="LIST", help=f"only some of {','.join(STEPS)}")
    add("--ours", default="", help=argparse.SUPPRESS)  # for the tests: encoders that replace ours
    return parser


class Run:
    """Runs the steps in order, each within its share of the time, and saves the report after each."""

    def __init__(self, options: argparse.Namespace, command: str, work: Path, progress: Callable[[str], None]) -> None:
        self.options, self.work, self.progress = options, work, progress
        self.output: Path = options.output.resolve()
        self.started, self.saved = time.monotonic(), 0.0
        self.source = building.source_tree()
        self.sizes = sizes_for(options.sizes or options.minutes, options.device == STAND_IN)
        self.limit = options.limit or max(10.0, options.minutes * 6)
        self.device, self.modules = options.device, ""
        self.named: list[str] = []
        head = {
            "command": command,
            "started": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            "minutes": options.minutes,
            "seconds": 0.0,
            "device": options.device,
            "source": str(self.source or ""),
            "sizes": asdict(self.sizes),
        }
        self.report = Report(self.output, head)

    def run(self) -> Report:
        """Run all steps, and conclude with a verdict."""
        self._save()  # overwrites the report of an earlier run, however this one ends
        try:
            self._make_vocabularies()
            self._steps()
        except BaseException as error:
            self.report.ended = f"{type(error).__name__} {error}".strip()
            raise
        finally:
            self.report.conclude()
            self._save()
        return self.report

    def _make_vocabularies(self) -> None:
        self.progress("making vocabularies")
        names = list(map(local_name, self.options.tokenizer)) or subjects.default_names()
        self.named = subjects.open_named(names, self.work)
        wanted = {case.subject for case in self._cases() if self.options.only in case.name}
        if {"repeats", "sanitizer"} & {*self.options.steps}:
            wanted |= {*subjects.FAMILIES, *subjects.OTHERS}
        subjects.make(wanted - {*self.named}, self.work)
        self.report.data["vocabularies"] = self.named
        self.report.optional = {case.name for case in self._cases() if case.is_optional}

    def _steps(self) -> None:
        self.report.data["machine"] = environment.of_the_machine(self.source)
        if not self._find_device():
            return
        for step in self.options.steps:
            self.progress(step)
            job = self._job(step)
            if step != "sanitizer":
                self._do(job, self._tasks(step), on_result=lambda result: self._take(step, result))  # noqa: B023
            elif why := sanitizer.why_not(self.device):
                self.report.add(step, {"name": sanitizer.PROGRAM, "status": "skipped", "says": why})
            else:
                sanitizer.run(job, self._do, lambda result: self._take(step, result))  # noqa: B023
            self._save()
            if step == "environment" and "gpu" not in self.report.data:
                return  # the device could not be opened

    def _tasks(self, step: str) -> list[str]:
        only = self.options.only
        if step == "ids":
            return [case.name for case in self._cases() if only in case.name]
        if step == "speed":
            return [name for name in speed.plan(self.sizes, self.named) if only in name]
        return list(repeats.TASKS) if step == "repeats" else ["the device"]

    def _job(self, step: str) -> dict[str, Any]:
        left = max(0.0, self.options.minutes * 60 - (time.monotonic() - self.started))
        later = [each for each in STEPS[STEPS.index(step) :] if each in self.options.steps]
        return {
            "step": step,
            "device": self.device,
            "sizes": asdict(self.sizes),
            "named": self.named,
            "vocabularies": str(self.work),
            "output": str(self.output),
            "seconds": left * SHARES[step] / sum(SHARES[each] for each in later),
            "limit": max(self.limit, _OPENING_SECONDS),
            "task_limit": self.limit,
            "modules": self.modules,
            "ours": self.options.ours,
        }

    def _do(
        self,
        job: dict[str, Any],
        names: Sequence[str],
        prefix: Sequence[str] = (),
        on_result: Callable[[Result], None] = lambda result: None,
    ) -> list[Result]:
        """Run tasks in processes of their own; `prefix` is a command that runs the child, such as a sanitizer."""
        limit = self.limit * (sanitizer.SLOWER if prefix else 1)
        tasks = [{"name": name, "limit": limit} for name in names]

        def take(result: Result) -> None:
            if result["name"] != OPENING or result["status"] != "ok":
                on_result(result)

        with open(self.output / "log.txt", "a+b") as log:
            log.write(f"-- {job['step']}, from {names[0] if names else 'nothing'}\n".encode())
            log.flush()
            found = run_tasks([*prefix, *child_command("parity.gpu.child")], job, tasks, take, log=log)
        return [result for name, result in found.items() if name != OPENING or result["status"] != "ok"]

    def _take(self, step: str, result: Result) -> None:
        if step == "ids" and result["status"] in ("crashed", "hung"):
            self._keep_inputs(result)
        if step == "environment" and result["status"] == "ok":
            self.report.data["gpu"] = {**result, "name": result["called"]}
        self.report.add(step, result)
        self.progress(f"{step}: {result['name']}: {result['status']}")
        if time.monotonic() - self.saved > _SAVE_SECONDS:
            self._save()

    def _cases(self) -> list[cases.Case]:
        return cases.plan(self.sizes, self.named)

    def _find_device(self) -> bool:
        """Find the device to check, and build its module if needed. Return False if that fails."""
        if self.device == STAND_IN:
            return True
        here = building.kinds_here()
        kind = self.device if self.device != "auto" else next(iter(here), "")
        is_built = bool(kind) and building.is_built(kind)
        if kind not in here and not is_built:
            says = f"this machine has no GPU for {self.device} (no /dev/nvidiactl, no /dev/kfd)"
            self.report.add("environment", {"name": "the device", "status": "failed", "says": says})
            return False
        if not is_built:
            self.progress(f"building the engine for {kind}")
            directory = self.output / "module"
            built = building.build(kind, self.source, directory, self.options.minutes * 60 * _BUILD_SHARE)
            self.report.add("environment", {"name": "the module", **built})
            if built["status"] != "ok":
                return False
            self.modules = str(directory)
            add_modules(self.modules)
        self.device = self.report.data["device"] = f"{kind}:0"
        return True

    def _keep_inputs(self, result: Result) -> None:
        case = next((case for case in self._cases() if case.name == result["name"]), None)
        if case is not None:
            number = result.get("batch", 0)
            batch = next(islice(cases.batches_of(case, self.sizes), number, None))
            path = self.work / f"{case.subject}.dat"
            result["failures"] = failures.write_batch(self.output, case, number, batch, path, result["status"])

    def _save(self) -> None:
        self.saved = time.monotonic()
        self.report.data["seconds"] = self.saved - self.started
        self.report.save()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the check, and print the verdict with its reasons."""
    parser = make_parser()
    options = parser.parse_args(argv)
    options.steps = [step for step in STEPS if step in options.steps]
    command = shlex.join(["python", "-m", "parity.gpu", *(sys.argv[1:] if argv is None else argv)])
    options.output.mkdir(parents=True, exist_ok=True)
    shown = Progress()
    try:
        with TemporaryDirectory(prefix="crayon-gpu-check-") as work:
            report = Run(options, command, Path(work), shown).run()
    except (CrayonError, UnknownVocabularyError) as error:
        parser.error(str(error))
    finally:
        shown.end()
    for line in report.summary():
        print(line)
    print(f"wrote {options.output / 'report.json'} and {options.output / 'report.md'}")
    return PASSED if report.data["verdict"] == PASS else FAILED


if __name__ == "__main__":
    sys.exit(main())
