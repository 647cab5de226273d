"""Parity reports as JSON: written reports are read back, and anything else is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from crayon_hf.parity.report.model import (
    SCHEMA,
    Category,
    DifferenceShown,
    FieldValues,
    Report,
    ReportError,
    Speed,
    SuiteResult,
)
from tests.parity.report_samples import SAMPLES, agreeing
from tests.support.compile_rule import changed, replace_by


def one() -> Report:
    suite = SuiteResult("strings", "generated", "made", 4, 0, 40, 0.5, (Category("tiny", 4, 0),), seed=1)
    speed = Speed("short", "", 1, "µs", False, (1.0, 2.0, 9.0), (10.0,))
    return replace(agreeing(), suites=(suite,), speeds=(speed,))


def differing() -> Report:
    suite = SuiteResult("strings", "generated", "made", 4, 1, 40, 0.5, (Category("tiny", 4, 1),), seed=1)
    shown = DifferenceShown("strings", "tiny", ("a",), ("abc",), (FieldValues("ids", "[1]", "[2]"),))
    return replace(one(), suites=(suite,), differences=(shown,))


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - {"empty", "hostile"}))
def test_what_was_written_is_read_again(name: str) -> None:
    report = SAMPLES[name]()
    written = report.to_json()
    assert Report.from_json(written) == Report.from_json(written.encode()) == report
    summary = json.loads(written)
    assert (summary["schema"], summary["agreed"]) == (SCHEMA, report.agreed)
    assert summary["inputs"] == sum(suite.inputs for suite in report.suites)


def test_agreement_needs_inputs_everywhere() -> None:
    report = one()
    assert report.agreed
    for change in ({"inputs": 0}, {"differing": 1}, {"failure": "it crashed"}):
        suite = SuiteResult(**{**vars(report.suites[0]), **change})
        for suites in ((suite,), (report.suites[0], suite)):
            assert not Report(**{**vars(report), "suites": suites}).agreed
    assert not Report(**{**vars(report), "suites": ()}).agreed


def test_ratio_is_of_medians() -> None:
    assert one().speeds[0].ratio == 5.0
    assert Speed("x", "", 1, "MB/s", True, (30.0, 10.0, 20.0), (5.0,)).ratio == 4.0
    assert Speed("x", "", 1, "MB/s", True, (30.0,), ()).ratio is None
    assert Speed("x", "", 1, "ms", False, (0.0,), (1.0,)).ratio is None


def damaged(path: tuple[Any, ...], value: Any) -> str:
    """The JSON of the report `differing` with `value` at `path`."""
    return changed(json.loads(differing().to_json()), path, replace_by(value))


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("target", "more"), 1, "damaged: .*target has 'more'"),
        (("target", "vocab_size"), True, "damaged: .*vocab_size is bool"),
        (("suites",), 3, "damaged: .*suites is int"),
        (("suites", 0, "inputs"), 4.0, "damaged: .*inputs is float"),
        (("suites", 0, "seconds"), float("nan"), "damaged: .*seconds is nan"),
        (("suites", 0, "categories"), [{"name": "x"}], "damaged: .*no 'inputs'"),
        (("speeds", 0, "ours"), [float("inf")], r"damaged: .*ours\[0\] is inf"),
        (("speeds", 0, "more_is_better"), 1, "damaged: .*more_is_better is int"),
        (("versions",), {"x": 1}, r"damaged: .*versions\['x'\] is int"),
        (("command",), "\ud800", "damaged: .*lone surrogate"),
        (("agreed",), True, "'agreed' is True"),
        (("inputs",), 5, "'inputs' is 5, by its suites 4"),
        (("suites", 0, "inputs"), 10**9, "its categories 4 and 1"),
        (("suites", 0, "differing"), 0, "its categories 4 and 1"),
        (("suites", 0, "categories", 0, "differing"), 3, "its categories 4 and 3"),
        (("suites", 0), {**json.loads(differing().to_json())["suites"][0], "differing": 9, "categories": []}, "more"),
        (("suites", 0), json.loads(one().to_json())["suites"][0], "shows differences, and counts none"),
        (("compared",), [], "does not say what was compared"),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_a_damaged_or_contradictory_report_is_none(path: tuple[Any, ...], value: Any, named: str) -> None:
    with pytest.raises(ReportError, match=named):
        Report.from_json(damaged(path, value))


@pytest.mark.parametrize(
    "text", ["", "{", "3", "{}", '{"schema": "another/1"}', "[" * 100_000, b"\xff\xfe", one().to_json()[:-3]]
)
def test_what_is_no_report(text: str | bytes) -> None:
    with pytest.raises(ReportError, match="not a parity report"):
        Report.from_json(text)
