"""What a run has found so far, as a value and as report.json."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from crayon_hf.util.files import write_atomic

from .watching import FAULTS, Result

SCHEMA = 1
"""Grows when what is in the file changes its meaning."""
STEPS = ("environment", "ids", "repeats", "sanitizer", "speed")
_COMPARE = ("ids", "repeats", "speed")
"""The steps that compare ids."""
RUNNING, PASS, FAIL = "RUNNING", "PASS", "FAIL"


class Report:
    """Grows with the run; whatever ends that, the file has what was learnt before."""

    def __init__(self, output: Path, head: dict[str, Any]) -> None:
        self._output = output
        self.ended = ""
        """What ended the run before all was done."""
        self.optional: set[str] = set()
        """Names of cases that may stay undone where time is short."""
        self.data: dict[str, Any] = {"schema": SCHEMA, "verdict": RUNNING, "reasons": [], "left_out": [], **head}
        self.data["machine"] = {}
        self.data["steps"] = {}

    def add(self, step: str, result: Result) -> None:
        """A result of a step."""
        self.data["steps"].setdefault(step, {"results": []})["results"].append(result)

    def results(self, step: str) -> list[Result]:
        """Those of a step, so far."""
        found: list[Result] = self.data["steps"].get(step, {}).get("results", [])
        return found

    def conclude(self) -> bool:
        """Set the verdict: PASS only if all cases were compared, all ids are equal, and nothing failed."""
        reasons, left_out = [], []
        for step in self.data["steps"]:
            for result in self.results(step):
                says = f"{step}, {result['name']}: {result['status']}{_behind(result)}"
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

    def counts(self, step: str) -> Counter[str]:
        """How many results of a step have each status."""
        return Counter(result["status"] for result in self.results(step))

    def save(self) -> None:
        """Rewrite report.json."""
        text = json.dumps(self.data, ensure_ascii=False, indent=1)
        write_atomic(self._output / "report.json", text.encode("utf-8", "surrogateescape") + b"\n")


def _behind(result: Result) -> str:
    return f" ({result['says']})" if result.get("says") else ""
