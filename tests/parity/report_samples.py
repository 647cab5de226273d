"""Parity reports of every outcome for tests of their pages. Their figures are invented."""

from __future__ import annotations

from dataclasses import replace

from crayon_hf.parity.report.model import (
    Category,
    DifferenceShown,
    FieldValues,
    Library,
    Report,
    Speed,
    SuiteResult,
    Target,
)

HOSTILE = (
    "</script><!-- \u202e|`*_\\ \x00\ud800\x1b[31m <img src=https://x.invalid onerror=alert(1)> &amp; 'a' \"b\"\n# $c$"
)
"""Texts that could break or falsify the page of a report if they were not escaped."""

GENERATED = (
    *("ascii_text", "accents", "contractions", "digits", "emoji", "long_letters", "mixed_scripts", "newlines"),
    *("punctuation", "special_tokens", "surrogate_neighbours", "unassigned", "white_space", "words_and_spaces"),
)

SPEEDS = (
    Speed("first pass", "english.txt", 1, "MB/s", True, (318.2, 322.9, 325.4), (8.41, 8.61, 8.57)),
    Speed("first pass", "english.txt", 2, "MB/s", True, (571.0, 602.3, 588.1), (15.2, 15.9, 14.8)),
    Speed("first pass", "code.txt", 1, "MB/s", True, (240.7, 236.0, 251.9), (7.02, 6.88, 6.95)),
    Speed("first pass", "multi.txt", 1, "MB/s", True, (131.5, 128.8, 133.0), (5.31, 5.02, 5.44)),
    Speed("repeated", "english.txt", 1, "MB/s", True, (402.2, 398.4, 409.0), (8.80, 8.72, 8.91)),
    Speed("short", "", 1, "\u00b5s", False, (1.42, 1.39, 1.47), (8.02, 7.96, 8.30)),
    Speed("decode", "english.txt", 1, "MB/s", True, (911.0, 902.4, 930.8), (1010.0, 984.1, 1004.2)),
    Speed("open", "", 1, "ms", False, (0.21, 0.19, 0.24), (311.0, 305.7, 322.5)),
)
"""Invented speeds for every scenario of a report, of very different magnitudes."""


def agreeing() -> Report:
    """A report in which every input agrees, with speeds."""
    categories = tuple(Category(name, 2_000 + 35 * place, 0) for place, name in enumerate(GENERATED))
    inputs = sum(each.inputs for each in categories)
    own = (Category("own tokens", 20_000, 0),)
    about = "strings made of the vocabulary's own tokens"
    return Report(
        target=Target("cl100k_base", "rank file", "6b1d" * 16, 100_277),
        ours=Library("crayon-hf", "0.1.0", "native, avx512"),
        reference=Library("tiktoken", "0.14.0"),
        compared=("ids", "decoded", "bytes", "token lookups"),
        suites=(
            SuiteResult(
                "strings", "generated", "strings of every category", inputs, 0, 1_204_331, 4.71, categories, seed=0
            ),
            SuiteResult("tokens", "generated", about, 20_000, 0, 702_118, 3.02, own, seed=0),
            SuiteResult("english.txt", "text", "English prose", 7_812, 0, 16_000_000, 9.4, digest="0f3a" * 16),
            SuiteResult("notes.txt", "file", "a file of the user's", 391, 0, 801_226, 0.52, digest="77c2" * 16),
        ),
        differences=(),
        speeds=SPEEDS,
        machine=("AMD EPYC 9B14, 2 cores, avx512", "Linux 6.1, x86_64, glibc 2.36", "CPython 3.11.2"),
        versions={"crayon-hf": "0.1.0", "tiktoken": "0.14.0", "tokenizers": "0.23.3", "regex": "2026.5.1"},
        command="crayon-hf parity cl100k_base --against tiktoken --strings 30000 --tokens 20000 --seed 0 "
        "--text english.txt --text notes.txt --output report",
        started="2026-11-22T05:31:07Z",
        seconds=61.8,
    )


def differing(count: int = 3) -> Report:
    """A report with ``count`` differing inputs, all in two categories of one suite."""
    report = agreeing()
    ids = FieldValues("ids", "[220, 126, 235, 378, 235, 256, 264]", "[220, 126, 235, 20119, 235, 264]")
    offsets = FieldValues("offsets", "[(0, 1), (1, 2), (2, 3), (3, 5)]", "[(0, 1), (1, 3), (3, 5)]")
    decoded = FieldValues("decoded", "'a\\u2028b '", "'a\\u2028 b '")
    found = ("and a\\u2028\\u2029 then", "b  c ")
    more = " \\u0130\\u200d  a"
    shown = (
        DifferenceShown("strings", "emoji", (more,), (f"well,{more} and 12 more\\n",), (ids, offsets)),
        DifferenceShown("strings", "white_space", ("a\\u2028", "b "), found, (decoded,), alone=False),
        DifferenceShown("strings", "emoji", ("\\U0001f468\\u200d",), ("x" * 300,), (FieldValues("ids", "[]", "[9]"),)),
    )
    first = report.suites[0]
    counts = {"emoji": count - count // 3, "white_space": count // 3}
    categories = tuple(replace(each, differing=counts.get(each.name, 0)) for each in first.categories)
    return replace(
        report,
        suites=(replace(first, differing=count, categories=categories), *report.suites[1:]),
        differences=tuple(shown[place % 3] for place in range(min(count, 50))),
    )


def failing() -> Report:
    """A report in which one suite could not be compared, and another has no inputs."""
    report = agreeing()
    why = "notes.txt: byte 1,041 is not UTF-8; give a text file, or leave it out"
    broken = SuiteResult("notes.txt", "file", "a file of the user's", 0, 0, 0, 0.01, failure=why)
    empty = SuiteResult("tokens", "generated", "strings made of the vocabulary's own tokens", 0, 0, 0, 0.0, seed=3)
    note = "There are no figures of speed for tokens: nothing was generated."
    return replace(report, suites=(*report.suites[:1], empty, broken), notes=(note,))


def plain() -> Report:
    """A report with one suite, without categories and speeds."""
    report = agreeing()
    return replace(report, suites=report.suites[2:3], speeds=())


def empty() -> Report:
    """A report of a run that compared nothing."""
    return replace(agreeing(), suites=(), speeds=(), machine=(), versions={}, compared=())


def filled(text: str) -> Report:
    """A report with `text` in every field that holds text."""
    suite = SuiteResult(text, text, text, 10, 1, 99, 1.0, (Category(text, 10, 1),), seed=1, digest=text, failure=text)
    values = FieldValues(text, text + "1" + text, text + "2" + text)
    return replace(
        agreeing(),
        target=Target(text, text, text, 1),
        ours=Library(text, text, text),
        reference=Library(text, text, text),
        compared=(text,),
        suites=(suite,),
        differences=(DifferenceShown(text, text, (text,), (text + "1",), (values,)),),
        speeds=(Speed(text, text, 1, text, True, (1.0, 2.0), (0.5, 0.7)),),
        machine=(text,),
        versions={text: text},
        command=text,
        started=text,
        notes=(text,),
    )


def hostile() -> Report:
    """A report with HOSTILE in every field that holds text, and with very long words."""
    report = filled(HOSTILE)
    long = SuiteResult("x" * 400, "text", "y" * 400, 5, 0, 5, 0.1, (Category("z" * 400, 5, 0),))
    return replace(report, suites=(*report.suites, long))


SAMPLES = {make.__name__: make for make in (agreeing, differing, failing, plain, empty, hostile)}
"""The functions above that make a report, by name."""
