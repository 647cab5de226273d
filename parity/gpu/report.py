"""The results of a run so far: as a value, as report.json, and as report.md, whose tables fit docs/gpu.md."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crayon_hf.parity.speed.processes import FAULTS, Result
from crayon_hf.util.files import write_atomic
from crayon_hf.util.markdown import table

from .sizes import STAND_IN
from .speed import INPUTS

SCHEMA = 1
"""The version of report.json's format. It must increase when a field of the file changes its meaning."""
STEPS = ("environment", "ids", "repeats", "sanitizer", "speed")
_COMPARE = ("ids", "repeats", "speed")
"""The steps that compare ids."""
RUNNING, PASS, FAIL = "RUNNING", "PASS", "FAIL"
_CELL = str.maketrans({"|": "\\|", "\n": " "})
_OF_SPEED = (
    "Medians of one text encoded repeatedly, with the memory and caches of earlier batches; the first batch is that of "
    "a new encoder. Texts come from the corpus of CRAYON_SHARED, else from this machine (parity/texts.py), repeated if "
    "necessary."
)
_FEW = 8
"""The number of the slowest kernels that a row shows."""


class Report:
    """The report of a run so far. However the run ends, the saved file has all results until then."""

    def __init__(self, output: Path, head: dict[str, Any]) -> None:
        self._output = output
        self.ended = ""
        """The error that ended the run early, if any."""
        self.optional: set[str] = set()
        """The names of cases that may be left out when time is short."""
        self.data: dict[str, Any] = {"schema": SCHEMA, "verdict": RUNNING, "reasons": [], "left_out": [], **head}
        self.data |= {"machine": {}, "steps": {}}

    def add(self, step: str, result: Result) -> None:
        """Add a result of a step."""
        self.data["steps"].setdefault(step, {"results": []})["results"].append(result)

    def results(self, step: str) -> list[Result]:
        """Return the results of a step so far."""
        found: list[Result] = self.data["steps"].get(step, {}).get("results", [])
        return found

    def conclude(self) -> bool:
        """Set the verdict, and return whether it is PASS: all ids were equal, and nothing failed.

        Only optional cases may be missing.
        """
        reasons, left_out = [], []
        for step in self.data["steps"]:
            for result in self.results(step):
                behind = f" ({result['says']})" if result.get("says") else ""
                says = f"{step}, {result['name']}: {result['status']}{behind}"
                if result["status"] in FAULTS:
                    reasons.append(says)
                elif result["status"] != "ok":
                    left_out.append(says)
        cases = self.results("ids")
        undone = [case["name"] for case in cases if case["status"] == "not run" and case["name"] not in self.optional]
        if undone:
            reasons.append(f"ids: {len(undone)} of {len(cases)} cases were not run, {undone[0]} first")
        if not any(result["status"] == "ok" for step in _COMPARE for result in self.results(step)):
            reasons.append("no ids were compared and equal")
        if self.ended:
            reasons.append(f"the run ended early: {self.ended}")
        self.data |= {"verdict": FAIL if reasons else PASS, "reasons": reasons, "left_out": left_out}
        return not reasons

    def save(self) -> None:
        """Rewrite report.json and report.md."""
        text = json.dumps(self.data, ensure_ascii=False, indent=1) + "\n"
        for name, content in (("report.json", text), ("report.md", self.to_markdown())):
            write_atomic(self._output / name, content.encode("utf-8", "surrogateescape"))

    def summary(self) -> list[str]:
        """Return the lines to print at the end: counts, reasons, and the verdict."""
        lines = []
        for step in self.data["steps"]:
            counts = Counter(result["status"] for result in self.results(step))
            lines.append(f"{step:<12} {', '.join(f'{count} {status}' for status, count in sorted(counts.items()))}")
        reasons, left_out = self.data["reasons"], self.data["left_out"]
        lines += [f"  {reason}" for reason in reasons[:20]]
        lines += [f"  and {len(reasons) - 20} more"] if len(reasons) > 20 else []
        lines += [f"not done: {len(left_out)} (report.md lists them)"] if left_out else []
        return [*lines, str(self.data["verdict"])]

    # -- report.md

    def to_markdown(self) -> str:
        """Return the whole report as Markdown."""
        data = self.data
        parts = [
            f"# parity.gpu: {data['verdict']}",
            "\n".join(self._head()),
            _list("Reasons", data["reasons"]),
            self._ids(),
            self._others(),
            self._speed(),
            self._kernels(),
            _list("Not done", data["left_out"]),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _head(self) -> list[str]:
        data, machine, device = self.data, self.data["machine"], self.data.get("gpu", {})
        facts = [data["device"]]
        if device:
            facts += [device["name"], device["architecture"], f"{device['memory'] / 2**30:.0f} GiB"]
        facts += [f"{name} {value}" for name, value in device.get("versions", {}).items() if value]
        commit = machine.get("build", {}).get("commit")
        lines = [
            f"- `{data['command']}`, {data['started']}, {data['seconds']:.0f} s",
            f"- Device: {', '.join(facts)}",
            f"- Machine: {machine.get('cpu', '')}, {machine.get('cores', '')} cores, {machine.get('system', '')}, "
            f"Python {machine.get('python', '')}, crayon-hf {machine.get('crayon_hf', '')}"
            + (f" ({commit})" if commit else ""),
        ]
        is_stand_in = data["device"] == STAND_IN
        return [*lines, *["- **The CPU ran the kernels: these figures do not apply to a GPU.**"] * is_stand_in]

    def _ids(self) -> str:
        """Return the table of the compared ids, with a row for each kind of case."""
        kinds: dict[str, list[Result]] = {}
        for result in self.results("ids"):
            kinds.setdefault(result["name"].rpartition(": ")[0], []).append(result)
        rows = []
        for kind, results in kinds.items():
            done = [result for result in results if "bytes" in result]
            counts = Counter("equal" if result["status"] == "ok" else result["status"] for result in results)
            says = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
            texts, size = sum(each["texts"] for each in done), sum(each["bytes"] for each in done)
            slowest = max((each["device_seconds"] for each in done), default=0.0)
            rows.append((kind, f"{texts:,}", f"{size:,}", f"{slowest:.2f}", says))
        return _table("Ids", ("inputs", "texts", "bytes", "slowest case, s", "cases, beside the CPU's ids"), rows)

    def _others(self) -> str:
        rows = [
            (step, result["name"], result["status"], result.get("says", ""))
            for step in ("environment", "repeats", "sanitizer")
            for result in self.results(step)
        ]
        return _table("Behaviour", ("step", "what", "result", ""), rows)

    def _speed(self) -> str:
        rows = []
        done = [result for result in self.results("speed") if "cpu" in result]
        for result in sorted(done, key=lambda result: (result["vocabulary"], result["text"], result["bytes"])):
            second = result.get("second_batch", {})
            calls = str(second["allocated"]["calls"]) if "allocated" in second else ""
            held = second.get("most_held")
            per_byte = f"{(held - result['vocabulary_bytes']) / result['bytes']:.1f}" if held else ""
            rates = [_rate(result.get(name, {})) for name in (*INPUTS, "first", "cpu")]
            where = (result["vocabulary"], result["text"], _size(result["bytes"]))
            rows.append((*where, *rates, calls, second.get("waits", ""), per_byte))
        if not rows:
            return ""
        heads = (
            *("vocabulary", "text", "bytes", *(f"{given}, GB/s" for given in INPUTS)),
            *("first batch, GB/s", "CPU, GB/s", "allocations of a second batch", "waits", "bytes held per byte"),
        )
        return _table("Speed", heads, rows, 9) + f"\n\n{_OF_SPEED}"

    def _kernels(self) -> str:
        """Return the table of the kernels' times, in the largest batch of each vocabulary and kind of text."""
        largest: dict[tuple[str, str], Result] = {}
        for result in sorted((each for each in self.results("speed") if each.get("kernels")), key=lambda e: e["bytes"]):
            largest[result["vocabulary"], result["text"]] = result
        rows = []
        for (vocabulary, text), result in largest.items():
            first, total = (
                sum(kernel["seconds"] for kernel in result[name].values()) for name in ("first_kernels", "kernels")
            )
            slowest = sorted(result["kernels"].items(), key=lambda each: -each[1]["seconds"])[:_FEW]
            shown = ", ".join(f"{name} {100 * kernel['seconds'] / (total or 1):.0f}%" for name, kernel in slowest)
            launches = sum(kernel["launches"] for kernel in result["kernels"].values())
            times = (f"{first * 1e3:.3f}", f"{total * 1e3:.3f}")
            rows.append((vocabulary, text, _size(result["bytes"]), *times, launches, shown))
        heads = ("first batch, ms", "second batch, ms", "launches", "the slowest, of that")
        return _table("Kernels", ("vocabulary", "text", "bytes", *heads), rows)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], numbers: int = 0) -> str:
    cells = ([str(cell).translate(_CELL) for cell in row] for row in rows)
    return f"## {title}\n\n{table(heads, cells, numbers)}" if rows else ""


def _list(title: str, lines: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines) if lines else ""


def _rate(figure: dict[str, Any]) -> str:
    return f"{figure['gb_per_s']:.3g}" if "gb_per_s" in figure else "no memory" if "failed" in figure else ""


def _size(size: int) -> str:
    return f"{size / 1e6:.2f} M" if size >= 1e5 else f"{size:,}"
