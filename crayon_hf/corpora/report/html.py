"""The report of a corpus as one HTML page, in the frame of all our pages."""

from __future__ import annotations

from collections.abc import Sequence

from crayon_hf.util.page.markup import literal, section, text
from crayon_hf.util.page.shell import command_box, page
from crayon_hf.util.page.words import count, large, plural, visible

from .model import LEFT_OUT, SCHEMA, CorpusReport, script, share, span, spread

__all__ = ["to_html"]

_FULL = 97.0
"""Per cent of the width that the longest bar takes."""
_SCRIPTS, _TOKENS = 30, 50


def to_html(report: CorpusReport) -> str:
    """A report as one page that needs no network. The same report gives the same page; text of the corpus is escaped.

    docs/corpora.md has an example.
    """
    return page(
        title=f"{visible(report.directory)} \u00b7 corpus report",
        kind="corpus report",
        sections=[
            ("lengths", "Lengths", _lengths(report)),
            ("scripts", "Scripts", _scripts(report)),
            ("tokens", "Tokens", _tokens(report)),
            ("unused", "Never used", _unused(report)),
            ("left-out", "Left out", _left_out(report)),
            ("repeat", "Repeat", _repeat(report)),
        ],
        banner=_banner(report),
        footer=f"Made by <code>crayon-hf corpus-report</code>. {SCHEMA}",
    )


def _banner(report: CorpusReport) -> str:
    tokenizer = visible(report.tokenizer) or "a tokenizer without a name"
    sides = (
        ("Tokenizer", tokenizer, plural(report.vocabulary, "id")),
        ("Format", report.format, f"{plural(report.shards, 'shard')}, {report.output_bytes / 1e6:,.1f} MB"),
        (
            "Text",
            f"{report.counts['text_bytes'] / 1e6:,.1f} MB",
            f"of {report.counts['input_bytes'] / 1e6:,.1f} MB read",
        ),
    )
    facts = "".join(
        f'<div class="side"><dt>{name}</dt><dd><b>{text(said)}</b><span>{text(note)}</span></dd></div>'
        for name, said, note in sides
    )
    ratio = report.bytes_per_token
    figures = [
        ("documents", large(report.counts["documents"]), count(report.counts["documents"])),
        ("tokens", large(report.counts["tokens"]), count(report.counts["tokens"])),
        ("bytes per token", "\u2013" if ratio is None else f"{ratio:.3f}", "of the documents' text"),
        ("ids never used", large(len(report.never_used)), f"of {count(report.vocabulary)}"),
    ]
    if report.sequences is not None:
        of = report.sequences
        note = f"of {count(of['sequence_length'])} tokens, {share(of['padding'], of['tokens'])} padding"
        figures.append(("sequences", large(of["sequences"]), note))
    if report.held_out is not None:
        figures.append(("documents held out", large(report.held_out["documents"]), "in held-out/"))
    shown = "".join(
        f'<div><dt>{name}</dt><dd class="value">{value}</dd><dd>{text(note)}</dd></div>'
        for name, value, note in figures
    )
    lead = f"{plural(report.counts['documents'], 'document')}, {plural(report.counts['tokens'], 'token')}."
    return (
        f'<div class="banner">\n<div class="verdict"><div><h1>{text(report.directory)}</h1>'
        f'<p class="lead">{lead}</p></div></div>\n<dl class="sides">{facts}</dl>\n</div>\n'
        f'<dl class="figures">{shown}</dl>'
    )


def _lengths(report: CorpusReport) -> str:
    lengths = report.lengths
    if lengths is None:
        return ""
    rows = [(text(span(each)), each.count, count(each.count)) for each in lengths.histogram]
    return section(
        "lengths", f"Lengths of {lengths.of}", [_bars(f"Tokens of {lengths.of}", "tokens", lengths.of, rows)],
        f"In tokens: {text(spread(lengths))}.",
    )  # fmt: skip


def _scripts(report: CorpusReport) -> str:
    if not report.scripts:
        return ""
    total, named = sum(report.scripts.values()), list(report.scripts.items())
    rows = [(text(script(name)), number, text(share(number, total))) for name, number in named[:_SCRIPTS]]
    if rest := sum(number for _, number in named[_SCRIPTS:]):
        rows.append((text(plural(len(named) - _SCRIPTS, "other script")), rest, text(share(rest, total))))
    note = f"Of {plural(total, 'character')} of the decoded text, by Unicode\u2019s property."
    return section("scripts", "Scripts", [_bars("Characters by script", "script", "share", rows)], note)


def _tokens(report: CorpusReport) -> str:
    if not report.frequent:
        return ""
    rows = [
        (
            f"{each.id} {'' if each.text is None else literal(each.text)}",
            each.count,
            f'{count(each.count)}<span class="spread">{text(share(each.count, report.tokens))}</span>',
        )
        for each in report.frequent[:_TOKENS]
    ]
    note = f"The {plural(len(rows), 'token')} that are most frequent, of {plural(report.tokens, 'token')} in the files."
    return section("tokens", "Most frequent tokens", [_bars("Tokens by frequency", "token", "count", rows)], note)


def _unused(report: CorpusReport) -> str:
    if not report.never_used:
        return section("unused", "Never used", ["<p>Every id is used.</p>"])
    shown = "\n".join(
        f'<li class="tile"><span class="name">{each.id}</span><span class="said">'
        f"{'' if each.text is None else literal(each.text)}</span></li>"
        for each in report.unused_texts
    )
    unused = len(report.never_used)
    note = f"{plural(unused, 'id')} of {count(report.vocabulary)} ({text(share(unused, report.vocabulary))})."
    if unused > len(report.unused_texts):
        note += f" The first {count(len(report.unused_texts))}; the report as JSON has all of them."
    return section("unused", "Never used", [f'<ul class="tiles">\n{shown}\n</ul>'], note)


def _left_out(report: CorpusReport) -> str:
    facts = [(said, count(report.counts.get(name, 0))) for name, said in LEFT_OUT.items() if report.counts.get(name)]
    if report.sequences is not None and report.sequences["dropped"]:
        facts.append(("tokens in no sequence", count(report.sequences["dropped"])))
    if not facts:
        return ""
    reasons = "".join(f"<li>{count(number)}: {text(reason)}</li>" for reason, number in report.bad_reasons.items())
    listed = f'<div><h3>Why records were bad</h3><ul class="machine">{reasons}</ul></div>' if reasons else ""
    return section(
        "left-out", "Left out", [f'<div class="columns"><div><h3>How much</h3>{_facts(facts)}</div>{listed}</div>']
    )  # fmt: skip


def _repeat(report: CorpusReport) -> str:
    facts = [("Directory", report.directory), ("Tokenizer", report.tokenizer or "\u2013"), ("Digest", report.digest)]
    return section(
        "repeat", "To repeat it", [command_box(report.command), _facts([(name, text(said)) for name, said in facts])],
        "This command makes the report again. The digest is the tokenizer\u2019s, SHA-256.",
    )  # fmt: skip


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    return (
        '<dl class="facts">'
        + "".join(f"<div><dt>{text(name)}</dt><dd>{said}</dd></div>" for name, said in facts)
        + "</dl>"
    )


def _bars(title: str, what: str, value: str, rows: Sequence[tuple[str, int, str]]) -> str:
    """A table of a bar for each row: (name, as HTML; number; what is said of it, as HTML)."""
    top = max((number for _, number, _ in rows), default=0)
    body = "\n".join(
        f'<tr><th scope="row" class="side">{name}</th><td><svg class="bar" width="100%" height="22" aria-hidden="true" '
        f'focusable="false"><rect class="ours" y="5" width="{_FULL * number / top if top else 0:.2f}%" height="12" '
        f'rx="1.5"/><line class="zero" x1="0" x2="0" y1="1" y2="21"/></svg></td><td class="number">{said}</td></tr>'
        for name, number, said in rows
    )
    return (
        f'<article class="panel"><table class="bars"><caption class="unseen">{title}</caption>\n'
        f'<thead class="unseen"><tr><th scope="col">{what}</th><th scope="col">bar</th>'
        f'<th scope="col">{value}</th></tr></thead>\n<tbody>\n{body}\n</tbody></table></article>'
    )
