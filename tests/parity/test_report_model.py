"""The report as JSON: what was written is read again, and nothing else is."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crayon_hf.parity.report.model import (
    SCHEMA,
    Category,
    DifferenceShown,
    FieldValues,
    Library,
    Report,
    ReportError,
    Speed,
    SuiteResult,
    Target,
)

words = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
counts = st.integers(0, 10**9)
numbers = st.floats(0, 1e9, allow_nan=False)


def several(of: Any) -> Any:
    return st.lists(of, max_size=3).map(tuple)


@st.composite
def counted(draw: st.DrawFn) -> tuple[int, int]:
    inputs = draw(counts)
    return inputs, draw(st.integers(0, inputs))


categories = st.builds(lambda name, counted: Category(name, *counted), words, counted())


@st.composite
def suites(draw: st.DrawFn) -> SuiteResult:
    """One whose categories, if it has any, sum up to it."""
    parts = draw(several(categories))
    inputs, differing = draw(counted())
    if parts:
        inputs, differing = sum(each.inputs for each in parts), sum(each.differing for each in parts)
    texts = [draw(words) for _ in range(3)]
    more = (draw(counts), draw(numbers), parts, draw(st.none() | counts), draw(st.none() | words), draw(words))
    return SuiteResult(texts[0], texts[1], texts[2], inputs, differing, *more)


differences = st.builds(
    DifferenceShown,
    words,
    words,
    several(words),
    several(words),
    several(st.builds(FieldValues, words, words, words)),
    st.booleans(),
)
speeds = st.builds(Speed, words, words, counts, words, st.booleans(), several(numbers), several(numbers))
libraries = st.builds(Library, words, words, words)
any_reports = st.builds(
    Report,
    target=st.builds(Target, words, words, words, counts),
    ours=libraries,
    reference=libraries,
    compared=st.lists(words, min_size=1, max_size=3).map(tuple),
    suites=several(suites()),
    differences=several(differences),
    speeds=several(speeds),
    machine=several(words),
    versions=st.dictionaries(words, words, max_size=3),
    command=words,
    started=words,
    seconds=numbers,
    notes=several(words),
)
reports = any_reports.map(lambda report: report if report.differing else replace(report, differences=()))


def one() -> Report:
    suite = SuiteResult("strings", "generated", "made", 4, 0, 40, 0.5, (Category("tiny", 4, 0),), seed=1)
    return Report(
        Target("gpt2", "a tokenizer.json", "ab" * 32, 50257),
        Library("crayon-hf", "1", "native, avx2"),
        Library("tokenizers", "2"),
        ("ids",),
        (suite,),
        (),
        (Speed("short", "", 1, "µs", False, (1.0, 2.0, 9.0), (10.0,)),),
        ("a processor",),
        {"tokenizers": "2"},
        "crayon-hf parity gpt2",
        "2026-01-02T03:04:05Z",
        1.5,
    )


def differing() -> Report:
    suite = SuiteResult("strings", "generated", "made", 4, 1, 40, 0.5, (Category("tiny", 4, 1),), seed=1)
    shown = DifferenceShown("strings", "tiny", ("a",), ("abc",), (FieldValues("ids", "[1]", "[2]"),))
    return replace(one(), suites=(suite,), differences=(shown,))


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(reports)
def test_what_was_written_is_read_again(report: Report) -> None:
    written = report.to_json()
    assert Report.from_json(written) == report
    assert Report.from_json(written.encode()) == report
    summary = json.loads(written)
    assert (summary["schema"], summary["agreed"]) == (SCHEMA, report.agreed)
    assert summary["inputs"] == sum(suite.inputs for suite in report.suites)


def test_agreement_needs_inputs_everywhere() -> None:
    report = one()
    assert report.agreed
    for change in ({"inputs": 0}, {"differing": 1}, {"failure": "it crashed"}):
        suite = SuiteResult(**{**vars(report.suites[0]), **change})
        for changed in ((suite,), (report.suites[0], suite)):
            assert not Report(**{**vars(report), "suites": changed}).agreed
    assert not Report(**{**vars(report), "suites": ()}).agreed


def test_categories_are_summed_in_order() -> None:
    report = one()
    more = SuiteResult("x", "generated", "", 5, 2, 1, 0.1, (Category("other", 3, 2), Category("tiny", 2, 1)))
    changed = Report(**{**vars(report), "suites": (*report.suites, more)})
    assert changed.by_category() == (Category("tiny", 6, 1), Category("other", 3, 2))
    assert (changed.inputs, changed.differing, changed.characters) == (9, 2, 41)


def test_ratio_is_of_medians() -> None:
    speed = one().speeds[0]
    assert speed.ratio == 5.0
    assert Speed("x", "", 1, "MB/s", True, (30.0, 10.0, 20.0), (5.0,)).ratio == 4.0
    assert Speed("x", "", 1, "MB/s", True, (30.0,), ()).ratio is None
    assert Speed("x", "", 1, "ms", False, (0.0,), (1.0,)).ratio is None


def test_a_report_without_notes_is_read() -> None:
    plain = json.loads(one().to_json())
    del plain["notes"]
    assert Report.from_json(json.dumps(plain)) == one()


REQUIRED = [each.name for each in fields(Report) if each.name not in ("notes", "schema")]


@pytest.mark.parametrize("name", REQUIRED)
def test_a_report_that_lacks_something_is_none(name: str) -> None:
    plain = json.loads(one().to_json())
    del plain[name]
    with pytest.raises(ReportError, match="damaged"):
        Report.from_json(json.dumps(plain))


def changed(path: tuple[Any, ...], value: Any) -> str:
    """The JSON of `differing` with another value in one place."""
    plain = json.loads(differing().to_json())
    place = plain
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(plain)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("target",), None, "target is NoneType, expected dict"),
        (("target", "more"), 1, "target has 'more'"),
        (("target", "vocab_size"), 10**30, r"target.vocab_size is 1e\+30"),
        (("target", "vocab_size"), True, "target.vocab_size is bool, expected int"),
        (("suites",), 3, "suites is int, expected list"),
        (("suites", 0), "text", r"suites\[0\] is str, expected dict"),
        (("suites", 0, "more"), 1, r"suites\[0\] has 'more'"),
        (("suites", 0, "inputs"), "4", r"suites\[0\].inputs is str, expected int"),
        (("suites", 0, "inputs"), 4.0, r"suites\[0\].inputs is float, expected int"),
        (("suites", 0, "differing"), False, "differing is bool"),
        (("suites", 0, "failure"), None, "failure is NoneType, expected str"),
        (("suites", 0, "digest"), 5, "digest is int, expected str"),
        (("suites", 0, "seconds"), float("nan"), "seconds is nan"),
        (("suites", 0, "seconds"), -1, "seconds is -1"),
        (("suites", 0, "categories"), [{"name": "x"}], r"categories\[0\] has no 'inputs'"),
        (("differences", 0, "fields"), [1], r"fields\[0\] is int"),
        (("differences", 0, "smallest"), "a", "smallest is str, expected list"),
        (("speeds", 0, "ours"), 1.0, "ours is float, expected list"),
        (("speeds", 0, "ours"), [float("inf")], r"ours\[0\] is inf"),
        (("speeds", 0, "more_is_better"), 1, "more_is_better is int, expected bool"),
        (("compared",), "ids", "compared is str, expected list"),
        (("compared",), [1, 2], r"compared\[0\] is int"),
        (("reference", "name"), 5, "reference.name is int"),
        (("machine",), [{}], r"machine\[0\] is dict"),
        (("notes",), [1], r"notes\[0\] is int"),
        (("versions",), 1, "versions is int, expected dict"),
        (("versions",), {"x": 1}, r"versions\['x'\] is int"),
        (("command",), 7, "command is int"),
        (("command",), "\ud800", "command has a lone surrogate at 0"),
        (("started",), 0, "started is int"),
        (("seconds",), "x", "seconds is str, expected float"),
    ],
)
def test_a_damaged_report_is_none(path: tuple[Any, ...], value: Any, named: str) -> None:
    with pytest.raises(ReportError, match=f"damaged: .*{named}"):
        Report.from_json(changed(path, value))


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("agreed",), True, "'agreed' is True"),
        (("inputs",), 5, "'inputs' is 5, by its suites 4"),
        (("differing",), True, "'differing' is True"),
        (("suites", 0, "inputs"), 10**9, "its categories 4 and 1"),
        (("suites", 0, "differing"), 0, "its categories 4 and 1"),
        (("suites", 0, "categories", 0, "differing"), 3, "its categories 4 and 3"),
        (("suites", 0), {**json.loads(differing().to_json())["suites"][0], "differing": 9, "categories": []}, "more"),
        (("suites", 0), json.loads(one().to_json())["suites"][0], "shows differences, and counts none"),
        (("compared",), [], "does not say what was compared"),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_a_report_that_contradicts_itself_is_none(path: tuple[Any, ...], value: Any, named: str) -> None:
    with pytest.raises(ReportError, match=named):
        Report.from_json(changed(path, value))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "{}", '{"schema": "another/1"}', "[" * 100_000, b"\xff\xfe"])
def test_what_is_no_report(text: str | bytes) -> None:
    with pytest.raises(ReportError, match="not a parity report"):
        Report.from_json(text)


def test_a_cut_file_is_none() -> None:
    written = one().to_json()
    for end in range(0, len(written) - 2, 37):
        with pytest.raises(ReportError):
            Report.from_json(written[:end])
