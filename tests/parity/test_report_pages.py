"""The pages of a report: they say what it says, and whatever text it holds stays text."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf.parity.report.alignment import align
from crayon_hf.parity.report.html import to_html
from crayon_hf.parity.report.markdown import escaped, fenced, speed_table, to_markdown
from crayon_hf.parity.report.model import Category, DifferenceShown, FieldValues, Library, Report, ReportError, Speed
from crayon_hf.parity.report.wording import large, ratio, ratio_spread, value, verdict, visible
from tests.parity.report_samples import HOSTILE, SAMPLES, agreeing, differing, failing, hostile

VOID = {"meta", "link", "wbr"}
ADDRESSES = {"href", "src", "srcset", "action", "formaction", "data", "poster", "xlink:href", "background", "cite"}
SEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")

foreign = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=12),
    st.lists(
        st.sampled_from(
            [*HOSTILE, "</script>", "]]>", "-->", "&lt", "\u202e", "\ud800", "```", "\\|", "://", "www.", " "]
        ),
        max_size=8,
    ).map("".join),
)


class Page(HTMLParser):
    """What a page holds: its text outside styles and script, its elements; it must be well nested."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.raw = {"style": "", "script": ""}
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in self.raw:
            self.raw[self._open[-1]] += data
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"a comment: {data!r}")

    def unknown_decl(self, data: str) -> None:
        pytest.fail(f"a declaration: {data!r}")


def shape(page: Page) -> list[tuple[str, tuple[str, ...]]]:
    """The elements without what foreign text may bring along: the marks of its spaces, arguments and parts."""
    mere = {"span", "mark", "i", "wbr", "p", "svg", "use"}
    return [(tag, tuple(attributes)) for tag, attributes in page.elements if tag not in mere]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_is_whole_and_asks_for_nothing(name: str) -> None:
    written = to_html(SAMPLES[name]())
    written.encode("utf-8")
    assert not SEEN.search(written)
    page = Page(written)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for tag, attributes in page.elements:
        for attribute, said in attributes.items():
            assert not attribute.startswith("on")
            assert attribute != "style"
            if attribute in ADDRESSES:
                assert said == "data:," or (said.startswith("#") and said[1:] in ids), (tag, attribute, said)
            # A text of the report may be an attribute that is only read, never one that is followed.
            elif "://" in said:
                assert attribute in {"title", "aria-label", "data-label"}
    assert "url(" not in page.raw["style"]
    assert "@import" not in page.raw["style"]
    policy = next(each["content"] for tag, each in page.elements if each.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    for element, content in page.raw.items():
        assert f"{element}-src 'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'" in policy


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_report_gives_the_same_pages(name: str) -> None:
    first = SAMPLES[name]()
    written = first.to_json().encode()
    if name == "hostile":  # the name of a file may be no text, and is shown; nobody need accept it from elsewhere
        with pytest.raises(ReportError, match=r"target\.name has a lone surrogate at 22"):
            Report.from_json(written)
        written = first.to_json().replace("\\ud800", "").encode()
        first = Report.from_json(written)
    second = Report.from_json(written)
    assert to_html(first) == to_html(second)
    assert to_markdown(first) == to_markdown(second)


@pytest.mark.parametrize("name", SAMPLES)
def test_only_full_agreement_is_called_so(name: str) -> None:
    report = SAMPLES[name]()
    for page in (to_html(report), to_markdown(report)):
        assert ("Agreement in full" in page) is report.agreed
        assert ("every one of" in page) is report.agreed


def test_headings_descend_step_by_step_and_sections_are_named() -> None:
    for make in SAMPLES.values():
        page = Page(to_html(make()))
        levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        for tag, attributes in page.elements:
            if tag == "section":
                assert attributes["aria-labelledby"] == attributes["id"] + "-title"
            if tag == "th":
                assert attributes["scope"] in {"row", "col", "rowgroup"}


def test_the_facts_are_on_both_pages() -> None:
    report = agreeing()
    for said in (Page(to_html(report)).text, to_markdown(report).replace("\\", "")):
        for fact in (
            *("59,388", "18,707,675", "tiktoken 0.14.0", "native, avx512", "rank file", "100,277 tokens", "6b1d" * 16),
            *("2026-11-22T05:31:07Z", "1 min 2 s", "AMD EPYC 9B14, 2 cores, avx512", report.command, "2026.5.1"),
            *(category.name for category in report.by_category()),
            *(suite.about for suite in report.suites),
            *("37.7\u00d7", "1,481\u00d7", "0.91\u00d7", "8.41\u20138.61", "8.57 MB/s", "1.42 \u00b5s", "311 ms"),
            *("seed 0", "token lookups", "english.txt", "2 threads"),
        ):
            assert fact in said, fact


def test_every_difference_is_shown_with_its_smallest_input() -> None:
    report = differing(50)
    page, markdown = Page(to_html(report)), to_markdown(report)
    assert sum(tag == "details" for tag, _ in page.elements) == 50
    for each in report.differences:
        for text in (*each.smallest, *each.found, *(side for f in each.fields for side in (f.ours, f.reference))):
            assert text in page.text
            assert f"|{text}|" in markdown
    assert "It differs only within its batch" in page.text
    assert "it differs only within its batch" in markdown


def test_differences_that_are_not_shown_are_counted() -> None:
    report = replace(differing(120), differences=differing(3).differences)
    assert "120 inputs differ; 3 of them are shown." in Page(to_html(report)).text
    assert "3 of 120 are shown." in to_markdown(report)


def test_a_failure_is_told_with_its_reason() -> None:
    report = failing()
    for said in (Page(to_html(report)).text, to_markdown(report)):
        assert "Not complete: 2 suites not compared" in said
        assert report.suites[2].failure in said
        assert "no inputs" in said
        assert report.notes[0] in said


def test_differing_categories_come_first() -> None:
    page = to_html(differing())
    assert page.index("white_<wbr>space") < page.index("ascii_<wbr>text")
    markdown = to_markdown(differing())
    assert markdown.index("white\\_space |") < markdown.index("ascii\\_text |")


def filled(text: str) -> Report:
    """A report with the text wherever it has one."""
    report = hostile()
    suite = replace(
        report.suites[0],
        name=text,
        kind=text,
        about=text,
        digest=text,
        failure=text,
        categories=(Category(text, 10, 1),),
    )
    return replace(
        report,
        target=replace(report.target, name=text, kind=text, source_digest=text),
        ours=Library(text, text, text),
        reference=Library(text, text, text),
        compared=(text,),
        suites=(suite,),
        differences=(DifferenceShown(text, text, (text,), (text + "1",), (FieldValues(text, text, text + "2"),)),),
        speeds=(Speed(text, text, 1, text, True, (1.0, 2.0), (0.5, 0.7)),),
        machine=(text,),
        versions={text: text},
        command=text,
        started=text,
        notes=(text,),
    )


@settings(max_examples=60, deadline=None)
@given(foreign)
def test_html_text_comes_back(text: str) -> None:
    page = Page(to_html(filled(text)))
    shown = visible(text)
    assert page.text.count(shown) >= 25
    assert visible(text, keep="\n\t") in page.text
    assert not SEEN.search(page.text)
    # The page is the same page, whatever the text: nothing of it has become an element or an attribute.
    known = "x" if text else ""
    assert [each for each in shape(page) if each[0] != "code"] == [
        each for each in shape(Page(to_html(filled(known)))) if each[0] != "code"
    ]


@settings(max_examples=60, deadline=None)
@given(foreign)
def test_markdown_keeps_its_shape(text: str) -> None:
    written = to_markdown(filled(text))
    written.encode("utf-8")
    assert not SEEN.search(written)
    fence = ""
    columns = 0
    plain = []
    for line in written.split("\n"):
        if ticks := re.match("```+", line):
            fence = ticks[0] if not fence else "" if line == fence else fence
            columns = 0
        elif not fence and line.startswith("|"):
            found = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line))
            assert columns in (0, found), line
            columns = found
            plain.append(line)
        elif not fence:
            columns = 0
            plain.append(line)
    assert fence == ""
    assert [line for line in plain if line.startswith("#")] == [
        f"# Parity report: {escaped(text)}",
        *("## Differences", "## Agreement by category", "## Suites", "## Speed", "## To repeat it"),
        "## What this shows, and what not",
    ]


@given(foreign)
def test_escaped_text_says_the_same_and_links_to_nothing(text: str) -> None:
    written = escaped(text)
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", re.sub(r"\\\\", "\0", written)).replace("\0", "\\") == visible(text)
    assert "\n" not in written
    assert not re.search(r"://|www\.|(?<!\\)(?:\\\\)*[<>`*_\[\]|@#&]", written)


@given(st.text("`a\n", max_size=20))
def test_a_fence_is_longer_than_what_it_holds(text: str) -> None:
    first, *inner, last = fenced(text).split("\n")
    assert first == last
    assert "\n".join(inner) == text
    assert not any(line.startswith(last) for line in inner)


def test_the_table_of_speeds_stands_alone() -> None:
    table = speed_table(agreeing())
    assert table.count("\n") == 1 + len(agreeing().speeds)
    assert "| Open |  | 1 thread | 0.21 ms (0.19\u20130.24) | 311 ms (306\u2013322) | **1,481\u00d7**" in table


@given(st.text("0123456789,[] ab'\\", max_size=30), st.text("0123456789,[] ab'\\", max_size=30))
def test_aligned_runs_are_the_two_values(ours: str, reference: str) -> None:
    runs = align(ours, reference)
    assert "".join(run.ours for run in runs) == ours
    assert "".join(run.reference for run in runs) == reference
    assert all(run.width for run in runs)
    assert all(run.equal for run in runs) is (ours == reference)


def test_numbers_and_escapes_are_aligned_whole() -> None:
    assert [(run.ours, run.reference) for run in align("[1, 12, 3]", "[1, 13, 3]") if not run.equal] == [("12", "13")]
    assert [run.ours for run in align("\\u2028", "\\u2029") if not run.equal] == ["\\u2028"]


def test_long_values_are_aligned_at_their_ends() -> None:
    long = ", ".join(map(str, range(2_000)))
    runs = align(f"{long}, 7, {long}", f"{long}, 8, {long}")
    assert [(run.ours, run.reference) for run in runs if not run.equal] == [("7", "8")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain \u00e9 \U0001f600", "plain \u00e9 \U0001f600"),
        ("\x00\x1b\x85", "\\x00\\x1b\\x85"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\ud800\udfff", "\\ud800\\udfff"),
        ("\U000e0041\U0010ffff", "\\U000e0041\\U0010ffff"),
        ("a\nb", "a\\x0ab"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_figures_are_short_and_honest() -> None:
    assert [large(number) for number in (0, 9_999, 10_000, 18_707_675, 7_200_000_000)] == [
        *("0", "9,999", "10.0 k", "18.7 M", "7.2 G")
    ]
    assert [value(number) for number in (0.0, 0.000123, 0.25, 8.567, 37.66, 1481.4, 2e11, float("nan"))] == [
        *("0", "0.00012", "0.25", "8.57", "37.7", "1,481", "2.0e+11", "?")
    ]
    assert ratio(None) == "\u2013"
    assert ratio_spread(Speed("a", "", 1, "ms", False, (1.0, 2.0), (4.0, 4.0))) == (2.0, 4.0)
    assert ratio_spread(Speed("a", "", 1, "MB/s", True, (1.0, 2.0), (4.0,))) is None
    assert ratio_spread(Speed("a", "", 1, "MB/s", True, (1.0, 2.0), (0.0, 1.0))) is None


def test_the_verdict_counts_failures_beside_differences() -> None:
    broken = replace(failing().suites[2])
    report = replace(differing(), suites=(*differing().suites, broken))
    assert verdict(report).headline == "3 differences"
    assert verdict(report).sentence.endswith(" 1 suite could not be compared.")
