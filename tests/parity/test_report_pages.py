"""The HTML and Markdown pages of a parity report: they show its contents, and foreign text never becomes markup."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crayon_hf.parity.report.alignment import align
from crayon_hf.parity.report.html import to_html
from crayon_hf.parity.report.markdown import to_markdown
from crayon_hf.util.markdown import escaped
from crayon_hf.util.page.words import visible
from tests.parity.report_samples import HOSTILE, SAMPLES, agreeing, filled
from tests.support.browser import opened
from tests.support.pages import Page

ADDRESSES = {"href", "src", "srcset", "action", "formaction", "data", "poster", "xlink:href", "background", "cite"}
SEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")

LONG = ", ".join(map(str, range(2_000)))

PIECES = [*HOSTILE, "</script>", "]]>", "-->", "&lt", "\u202e", "\ud800", "```", "\\|", "://", "www.", " "]
ANY = st.text(st.characters(exclude_categories=()), max_size=12)
foreign = ANY | st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


def shape(page: Page) -> list[tuple[str, tuple[str, ...]]]:
    """The elements of a page, without elements that only mark spaces, arguments and parts of foreign text."""
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
            # Text of a report may occur in attributes that are only shown, never in links.
            elif "://" in said:
                assert attribute in {"title", "aria-label", "data-label"}
    assert "url(" not in page.raw["style"]
    assert "@import" not in page.raw["style"]
    policy = next(each["content"] for tag, each in page.elements if each.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    for element, content in page.raw.items():
        assert f"{element}-src 'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'" in policy


@pytest.mark.parametrize("name", SAMPLES)
def test_only_full_agreement_is_called_so(name: str) -> None:
    report = SAMPLES[name]()
    for page in (to_html(report), to_markdown(report)):
        assert ("Agreement in full" in page) is report.agreed
        assert ("gave the same results as" in page) is report.agreed


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


@settings(max_examples=60, deadline=None)
@given(foreign)
def test_html_text_comes_back(text: str) -> None:
    page = Page(to_html(filled(text)))
    shown = visible(text)
    assert page.text.count(shown) >= 25
    assert visible(text, keep="\n\t") in page.text
    assert not SEEN.search(page.text)
    # For any text the elements and attributes are the same.
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
        "## How to read this report",
    ]


@given(foreign)
def test_escaped_text_says_the_same_and_links_to_nothing(text: str) -> None:
    written = escaped(text)
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", re.sub(r"\\\\", "\0", written)).replace("\0", "\\") == visible(text)
    assert "\n" not in written
    assert not re.search(r"://|www\.|(?<!\\)(?:\\\\)*[<>`*_\[\]|@#&]", written)


@given(st.text("0123456789,[] ab'\\", max_size=30), st.text("0123456789,[] ab'\\", max_size=30))
def test_aligned_runs_are_the_two_values(ours: str, reference: str) -> None:
    runs = align(ours, reference)
    assert "".join(run.ours for run in runs) == ours
    assert "".join(run.reference for run in runs) == reference
    assert all(run.width for run in runs)
    assert all(run.equal for run in runs) is (ours == reference)


@pytest.mark.parametrize(
    ("ours", "reference", "differing"),
    [
        ("[1, 12, 3]", "[1, 13, 3]", ("12", "13")),
        ("\\u2028", "\\u2029", ("\\u2028", "\\u2029")),
        (f"{LONG}, 7, {LONG}", f"{LONG}, 8, {LONG}", ("7", "8")),
    ],
    ids=["number", "escape", "long"],
)
def test_what_differs_is_whole_and_alone(ours: str, reference: str, differing: tuple[str, str]) -> None:
    assert [(run.ours, run.reference) for run in align(ours, reference) if not run.equal] == [differing]


# -- in a browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("report pages")
    for name, make in SAMPLES.items():
        (directory / f"{name}.html").write_text(to_html(make()), encoding="utf-8")
    return directory


@pytest.mark.slow
@pytest.mark.parametrize("denied", [False, True])
@pytest.mark.parametrize("name", ["agreeing", "hostile"])
def test_the_command_is_copied_by_keyboard(browser: Any, pages: Path, name: str, denied: bool) -> None:
    """The report's command is copied with the browser's clipboard interface, and if `denied` without it."""
    with opened(browser, pages / f"{name}.html") as page:
        if denied:
            page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        focus_by_tab(page, "copy")
        page.keyboard.press("Enter")
        page.get_by_text("Copied", exact=True).wait_for()
        assert page.evaluate("document.activeElement.id") == "copy"
        page.evaluate("document.body.prepend(Object.assign(document.createElement('textarea'), { id: 'paste' }))")
        page.locator("#paste").focus()
        page.keyboard.press("Control+V")
        pasted = page.locator("#paste").input_value()
        assert pasted == page.locator("#command").text_content()
        if name != "hostile":
            assert pasted == SAMPLES[name]().command


def focus_by_tab(page: Any, name: str) -> None:
    """Press Tab until the element with the id `name` has the focus."""
    for _ in range(300):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    pytest.fail(f"#{name} is not reached by Tab")
