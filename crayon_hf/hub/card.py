"""The model card of a published tokenizer: its README.md.

crayon-hf's part of the file is between two comments, and the next `publish` replaces that part. All other text,
metadata included, stays as the author wrote it; crayon-hf only adds missing metadata and tags.

``library_name`` is ``crayon-hf`` in a repository that holds only a tokenizer. The Hub shows sample code for each
library that it knows. The code for ``transformers`` opens a model, which fails in a repository without weights. In the
repository of a model (one with a ``config.json``) crayon-hf adds no ``library_name``: the Hub infers the library
itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crayon_hf.errors import CrayonError
from crayon_hf.hub import front_matter
from crayon_hf.parity.report.markdown import speed_table
from crayon_hf.parity.report.wording import ratio, suite_origin
from crayon_hf.util.extras import command as install_command
from crayon_hf.util.markdown import escaped, fenced, table
from crayon_hf.util.page.words import count, visible

if TYPE_CHECKING:
    from crayon_hf.parity.report.model import Library, Report, SuiteResult

TAGS = ("tokenizer", "crayon-hf", "cartridge")
LIBRARY = "crayon-hf"

BEGIN = "<!-- crayon-hf: begin. This part is written by crayon-hf publish, and replaced by the next one. -->"
END = "<!-- crayon-hf: end -->"
_BEGIN = re.compile(r"^<!-- crayon-hf: begin\b[^\r\n]*-->(?=[ \t]*[\r\n]|\Z)", re.MULTILINE)
_END = re.compile(r"^<!-- crayon-hf: end -->(?=[ \t]*[\r\n]|\Z)", re.MULTILINE)

REPORT_JSON, REPORT_PAGE = "crayon-hf/parity.json", "crayon-hf/parity.html"
PLOT_SVG, PLOT_PNG = "crayon-hf/speed.svg", "crayon-hf/speed.png"


@dataclass(frozen=True)
class Facts:
    """Facts for the card that the parity report lacks: about the repository and its tokenizer."""

    repo: str
    revision: str | None = None
    """The revision that users must ask for, or None if it is the main branch."""
    base: str | None = None
    """The name of the tokenizer that this one was made from."""
    vocab_size: int = 0
    is_model: bool = False
    """Whether the repository also has a model."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Metadata to add where the card lacks it: ``license``, ``base_model`` and so on."""


def make_card(existing: str | None, facts: Facts, report: Report) -> str:
    """Return the README.md. If `existing` is given, only crayon-hf's part of it is added or replaced.

    Raises CrayonError if the change would lose text: the metadata is unreadable, or only one of crayon-hf's two
    comments is present.
    """
    fill = {"library_name": None if facts.is_model else LIBRARY, **facts.metadata}
    ours = _our_part(facts, report)
    if existing is None:
        return f"---\n{front_matter.filled(None, fill, TAGS)}\n---\n\n# {escaped(facts.repo)}\n\n{ours}\n"
    existing = existing.removeprefix("\ufeff")
    newline = front_matter.line_end(existing)
    opening, block, closing, body = front_matter.split(existing)
    metadata = front_matter.filled(block, fill, TAGS, newline)
    body = _placed(body, ours.replace("\n", newline), newline)
    if block is None:
        return f"---{newline}{metadata}{newline}---{newline}{'' if body.startswith(newline) else newline}{body}"
    return f"{opening}{metadata}{closing}{body}"


def _placed(body: str, ours: str, newline: str) -> str:
    """Return `body` with crayon-hf's part replaced or appended."""
    begins, ends = list(_BEGIN.finditer(body)), list(_END.finditer(body))
    if len(begins) == len(ends) == 1 and begins[0].end() <= ends[0].start():
        return body[: begins[0].start()] + ours + body[ends[0].end() :]
    if begins or ends:
        raise CrayonError(
            "README.md: the comments around crayon-hf's part are not one pair: remove them, or the remaining one "
            f"({len(begins)} of {BEGIN[:25]}..., {len(ends)} of {END})"
        )
    text = body.rstrip()
    return f"{text}{newline * 2 if text else newline}{ours}{newline}"


# -- our part


def _our_part(facts: Facts, report: Report) -> str:
    parts = [
        BEGIN,
        "## Tokenizer and cartridge",
        _what_it_is(facts, report),
        "## Use",
        *_use(facts),
        "## Parity certificate",
        *_certificate(report),
        *_speed(report),
        "## Verify it yourself",
        *_verify(facts, report),
        END,
    ]
    return "\n\n".join(parts)


def _what_it_is(facts: Facts, report: Report) -> str:
    base = f" It is the tokenizer of {escaped(facts.base)}." if facts.base else ""
    return (
        f"A tokenizer of {count(facts.vocab_size)} ids in two forms.{base} Stock `transformers` and `tokenizers` open "
        "`tokenizer.json`. `tokenizer.dat` is its *cartridge*: the same, compiled once by crayon-hf, mapped into "
        "memory and used in place. "
        f"Its ids are those of `{_code(report.reference.name)}`."
    )


def _use(facts: Facts) -> Iterable[str]:
    revision = f", revision={_literal(facts.revision)}" if facts.revision else ""
    lines = (
        "",
        f"tokenizer = AutoTokenizer.from_pretrained({_literal(facts.repo)}{revision})",
        'ids = tokenizer("Hello, world!").input_ids',
    )
    yield (
        "With crayon-hf, whose `AutoTokenizer` replaces that of `transformers`. The package index does not have "
        "crayon-hf yet: in a clone of its repository, this compiles and installs it."
    )
    yield _block("sh", install_command("transformers", "hub"))
    yield _block("python", "from crayon_hf import AutoTokenizer", *lines)
    yield "With `transformers` alone, which reads `tokenizer.json` and ignores the cartridge:"
    yield _block("python", "from transformers import AutoTokenizer", *lines)


def _certificate(report: Report) -> Iterable[str]:
    yield (
        "Results were compared with those of the reference, field by field. The certificate is in the cartridge, too; "
        f"[the whole report]({REPORT_PAGE}) is a page for a browser, [its data]({REPORT_JSON}) is JSON."
    )
    yield table(
        ("outcome", "full agreement" if report.agreed else "differences"),
        (
            ("reference", _library(report.reference)),
            ("compared with it", _library(report.ours)),
            ("inputs", count(report.inputs)),
            ("characters", count(report.characters)),
            ("categories", count(len(report.by_category()))),
            ("differences", count(report.differing)),
            ("fields compared", ", ".join(map(escaped, report.compared))),
            ("SHA-256 of tokenizer.json", f"`{_code(report.target.source_digest)}`"),
            ("date", escaped(report.started)),
            ("machine", "; ".join(map(escaped, report.machine))),
        ),
    )
    yield table(
        ("inputs", "from", "number", "characters", "differences"),
        (_suite_row(suite) for suite in report.suites),
        numbers=3,
    )
    if categories := report.by_category():
        yield "<details><summary>Inputs by category</summary>"
        yield table(
            ("category", "inputs", "differences"),
            ((escaped(each.name), count(each.inputs), count(each.differing)) for each in categories),
            numbers=2,
        )
        yield "</details>"
    if report.notes:
        yield "\n".join(f"- {escaped(note)}" for note in report.notes)


def _library(library: Library) -> str:
    details = f" ({escaped(library.details)})" if library.details else ""
    return f"{escaped(library.name)} {escaped(library.version)}{details}"


def _suite_row(suite: SuiteResult) -> tuple[str, ...]:
    name = escaped(f"{suite.name}: {suite.about}" if suite.about else suite.name)
    return name, escaped(suite_origin(suite)), count(suite.inputs), count(suite.characters), count(suite.differing)


def _speed(report: Report) -> Iterable[str]:
    if not report.speeds:
        return
    yield "## Speed"
    yield (
        "Both sides in turn on the machine above: medians, with the least and the greatest round. Other machines and "
        "texts have other speeds."
    )
    yield speed_table(report)
    yield f"[![{escaped(_in_words(report))}]({PLOT_PNG})]({PLOT_SVG})"


def _in_words(report: Report) -> str:
    """Return the alternative text of the plot: its content in words."""
    ratios: dict[str, list[float]] = {}
    for speed in report.speeds:
        if speed.ratio is not None:
            ratios.setdefault(speed.scenario, []).append(speed.ratio)
    told = [
        f"{scenario} {ratio(min(each))}" + (f" to {ratio(max(each))}" if len(each) > 1 else "")
        for scenario, each in ratios.items()
    ]
    return f"Speedup of crayon-hf over {report.reference.name}: {', '.join(told) or 'not measured'}"


def _verify(facts: Facts, report: Report) -> Iterable[str]:
    name = facts.repo.rpartition("/")[2]
    spec = f"{facts.repo}@{facts.revision}" if facts.revision else facts.repo
    yield (
        "The first line checks every byte of the cartridge, and that it agrees with `tokenizer.json`; the second "
        "shows the certificate; the third repeats the comparison on this machine."
    )
    yield _block(
        "sh",
        f"crayon-hf pull {_argument(spec)}",
        f"crayon-hf info -t {_argument(name)}",
        f"crayon-hf parity {_argument(name)} --against {_argument(report.reference.name)}",
    )
    if report.command:
        yield "The report above was made by:"
        yield _block("sh", report.command)


# -- Markdown


def _code(value: str) -> str:
    """Return text for use between backticks. Characters that could end the code become ``?``."""
    return re.sub(r"[^ -\[\]-_a-{}~]", "?", " ".join(value.split())) or "?"


def _block(language: str, *lines: str) -> str:
    """Return a code block in which no line equals one of crayon-hf's two comments."""
    block: str = fenced("\n".join(visible(line).replace(BEGIN[:14], "<!--") for line in lines), language)
    return block


def _literal(value: str) -> str:
    """Return `value` as a Python string literal in double quotes."""
    import json

    return json.dumps(value)


def _argument(value: str) -> str:
    """Return `value`, quoted as one word of a command line."""
    import shlex

    return shlex.quote(value)
