"""A whole run: the steps in their order, each within its share of the time, and the report after each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from crayon_hf.util.files import write_atomic

from . import building, cases, environment, failures, repeats, sanitizer, speed, subjects
from .access import STAND_IN, Job, add_modules
from .markdown import to_markdown
from .report import STEPS, Report
from .sizes import Sizes, sizes_for
from .watching import Result, run_tasks

DEVICES = ("auto", "cuda", "rocm", STAND_IN)
SHARES = {"environment": 1, "ids": 8, "repeats": 2, "sanitizer": 4, "speed": 7}
"""Of the time. What a step leaves goes to those behind it."""
_BUILD_SHARE = 0.4
_SAVE_SECONDS = 2.0


@dataclass(frozen=True)
class Options:
    """What a user asks for."""

    output: Path
    device: str = "auto"
    minutes: float = 10.0
    sizes: float | None = None
    """Sizes as for so many minutes; None: as for `minutes`."""
    limit: float | None = None
    """Seconds from which on a task counts as one that hangs; None: a tenth of the time."""
    tokenizers: tuple[str, ...] = ()
    source: str | None = None
    steps: tuple[str, ...] = STEPS
    only: str = ""
    """Of ids and speed, only tasks that have this in their names."""
    ours: str = ""
    command: str = ""


def check(options: Options, progress: Callable[[str], None] = lambda message: None) -> Report:
    """Do all of it; returns the report, whose verdict is set. The files are in ``options.output``."""
    options.output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="crayon-gpu-check-") as work:
        return _Run(options, Path(work), progress).run()


class _Run:
    def __init__(self, options: Options, work: Path, progress: Callable[[str], None]) -> None:
        self.options, self.work, self.progress = options, work, progress
        self.started = time.monotonic()
        self.source = building.source_tree(options.source)
        self.sizes: Sizes = sizes_for(options.sizes or options.minutes, options.device == STAND_IN)
        self.limit = options.limit or max(10.0, options.minutes * 6)
        self.device, self.modules = options.device, ""
        self.named: tuple[str, ...] = ()
        self.saved = 0.0
        head = {
            "command": options.command or "python -m parity.gpu",
            "started": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            "minutes": options.minutes,
            "seconds": 0.0,
            "device": options.device,
            "source": str(self.source or ""),
            "sizes": asdict(self.sizes),
        }
        self.report = Report(options.output, head)

    def run(self) -> Report:
        """The steps, and the verdict."""
        self._save()  # in the place of what an earlier run left there, whatever ends this one
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
        vocabularies = self.work / "vocabularies"
        vocabularies.mkdir()
        self.progress("making vocabularies")
        self.named = tuple(subjects.open_named(self.options.tokenizers or subjects.default_names(), vocabularies))
        subjects.make(self._made(), vocabularies)
        self.report.data["vocabularies"] = list(self.named)
        self.report.optional = {case.name for case in self._cases() if case.is_optional}

    def _steps(self) -> None:
        self.report.data["machine"] = environment.of_the_machine(self.source)
        self._save()
        if not self._find_device():
            return
        for step in STEPS:
            if step not in self.options.steps:
                continue
            self.progress(step)
            for result in self._step(step):
                if step == "environment" and result["status"] == "ok":
                    self.report.data["gpu"] = {
                        name: value for name, value in result.items() if name not in ("name", "status")
                    } | {"name": result["called"]}
                if step == "ids" and result["status"] in ("crashed", "hung"):
                    self._keep_inputs(result)
            self._save()
            if step == "environment" and not self.report.data.get("gpu"):
                return  # the device cannot be opened

    def _step(self, step: str) -> list[Result]:
        job = self._job(step)
        log = self.options.output / "log.txt"

        def on_result(result: Result) -> None:
            self.report.add(step, result)
            self.progress(f"{step}: {result['name']}: {result['status']}")
            if time.monotonic() - self.saved > _SAVE_SECONDS:
                self._save()

        if step == "sanitizer":
            why = sanitizer.why_not(self.device)
            if not why:
                return sanitizer.run(job, log, on_result)
            on_result({"name": sanitizer.PROGRAM, "status": "skipped", "says": why})
            return []
        return run_tasks(job, log, on_result)

    def _job(self, step: str) -> Job:
        tasks: Sequence[str] = {
            "environment": lambda: ["the device"],
            "ids": lambda: [case.name for case in self._cases()],
            "repeats": lambda: list(repeats.TASKS),
            "sanitizer": lambda: ["all"],
            "speed": lambda: speed.plan(self.sizes, self.named),
        }[step]()
        left = max(0.0, self.options.minutes * 60 - (time.monotonic() - self.started))
        later = [each for each in STEPS[STEPS.index(step) :] if each in self.options.steps]
        return Job(
            step=step,
            tasks=tuple(name for name in tasks if step not in ("ids", "speed") or self.options.only in name),
            device=self.device,
            sizes=self.sizes,
            named=self.named,
            vocabularies=str(self.work / "vocabularies"),
            output=str(self.options.output.resolve()),
            events=str(self.work / "events"),
            seconds=left * SHARES[step] / sum(SHARES[each] for each in later),
            limit=self.limit,
            source=str(self.source or ""),
            modules=self.modules,
            ours=self.options.ours,
        )

    def _made(self) -> set[str]:
        """The vocabularies that are made for the steps."""
        wanted = {case.subject for case in self._cases() if self.options.only in case.name}
        if {"repeats", "sanitizer"} & {*self.options.steps}:
            wanted |= {*subjects.FAMILIES, *subjects.OTHERS}
        return wanted - {*self.named}

    def _cases(self) -> list[cases.Case]:
        return cases.plan(self.sizes, self.named, self.source is not None)

    def _find_device(self) -> bool:
        """The device that is checked; builds its module where there is none. False when it cannot be had."""
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
            directory = self.options.output.resolve() / "module"
            built = building.build(kind, self.source, directory, self.options.minutes * 60 * _BUILD_SHARE)
            self.report.add("environment", {"name": "the module", **built})
            if not built.get("module"):
                return False
            self.modules = str(directory)
            add_modules(self.modules)
        self.device = f"{kind}:0"
        self.report.data["device"] = self.device
        return True

    def _keep_inputs(self, result: Result) -> None:
        case = next((case for case in self._cases() if case.name == result["name"]), None)
        if case is None:
            return
        number = result["batch"]
        batch = next(islice(cases.batches_of(case, self.sizes, self.source), number, None))
        path = self.work / "vocabularies" / f"{case.subject}.dat"
        result["failures"] = failures.write_batch(self.options.output, case, number, batch, path, result["status"])

    def _save(self) -> None:
        self.saved = time.monotonic()
        self.report.data["seconds"] = self.saved - self.started
        self.report.save()
        write_atomic(self.options.output / "report.md", to_markdown(self.report).encode("utf-8", "surrogateescape"))


def summary(report: Report) -> list[str]:
    """What is printed in the end: counts, reasons, and the verdict."""
    lines = []
    for step in report.data["steps"]:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(report.counts(step).items()))
        lines.append(f"{step:<12} {counts}")
    reasons: list[str] = report.data["reasons"]
    lines += [f"  {reason}" for reason in reasons[:20]]
    if len(reasons) > 20:
        lines.append(f"  and {len(reasons) - 20} more")
    left_out: Any = report.data["left_out"]
    if left_out:
        lines.append(f"not done: {len(left_out)} (report.md lists them)")
    return [*lines, str(report.data["verdict"])]
