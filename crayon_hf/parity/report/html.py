"""A report as one HTML page that holds all it needs: no network, no script but its own, light and dark."""

from __future__ import annotations

from crayon_hf.util.page.markup import mark, section, text
from crayon_hf.util.page.shell import BREAKS, command_box, page

from .html_agreement import categories, differences, suites
from .html_speed import speed
from .model import Report
from .wording import COMPARED, DIFFERS, caveats, duration, key_figures, seeds, target_about, verdict, visible

__all__ = ["to_html"]

_NAMES = {
    "categories": "Categories",
    "differences": "Differences",
    "suites": "Suites",
    "speed": "Speed",
    "repeat": "Repeat",
    "meaning": "Meaning",
}


def to_html(report: Report) -> str:
    """The page, UTF-8 with a newline at the end; the same report gives the same page.

    Everything from the report is escaped: characters that cannot be seen, that turn the direction of text or that no
    file can hold (lone surrogates) are spelled out. The page asks for nothing: styles and script are inline and named
    by digest in its Content-Security-Policy.
    """
    parts = {
        "differences": differences(report),
        "categories": categories(report),
        "suites": suites(report),
        "speed": speed(report),
        "repeat": _repeat(report),
        "meaning": _meaning(report),
    }
    said = verdict(report)
    return page(
        title=f"{visible(report.target.name)}: {said.headline.lower()} \u00b7 parity report",
        kind="parity report",
        sections=[(name, _NAMES[name], part) for name, part in parts.items()],
        banner=_banner(report),
        footer=f"Made by <code>crayon-hf parity</code>, {text(report.started)}, in {duration(report.seconds)}. "
        f"{text(report.schema)}",
    )


def _banner(report: Report) -> str:
    said = verdict(report)
    kind = {COMPARED: "yes", DIFFERS: "no"}.get(said.kind, "unknown")
    sides = "".join(
        f'<div class="side {name}"><dt>{role}</dt><dd><b>{text(library.name)}</b> {text(library.version)}'
        f"{f'<span>{text(library.details)}</span>' if library.details else ''}</dd></div>"
        for name, role, library in (("ours", "Checked", report.ours), ("reference", "Against", report.reference))
    )
    target = (
        f'<div class="side"><dt>Vocabulary</dt><dd><b>{text(report.target.name)}</b>'
        f"<span>{text(target_about(report))}</span></dd></div>"
    )
    figures = "".join(
        f'<div><dt>{text(each.name)}</dt><dd class="value">{text(each.value)}</dd>'
        f"{f'<dd>{text(each.note)}</dd>' if each.note else ''}</div>"
        for each in key_figures(report)
    )
    return (
        f'<div class="banner {kind}">\n<div class="verdict">{mark(kind)}<div><h1>{text(said.headline)}</h1>'
        f'<p class="lead">{text(said.sentence)}</p></div></div>\n'
        f'<dl class="sides">{target}{sides}</dl>\n</div>\n<dl class="figures">{figures}</dl>'
    )


def _repeat(report: Report) -> str:
    shown = visible(report.command, keep=BREAKS)
    spelled = "" if shown == report.command else " Characters that cannot be shown are spelled out in it."
    command = command_box(report.command)
    versions = "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{text(version)}</td></tr>'
        for name, version in sorted(report.versions.items())
    )
    digest = '<code class="digest">{}</code>'
    facts = [
        ("Started", text(report.started)),
        ("Took", duration(report.seconds)),
        *([("Source", digest.format(text(report.target.source_digest)))] if report.target.source_digest else []),
        *((text(name), text(said)) for name, said in seeds(report)),
        *(("Text " + text(suite.name), digest.format(text(suite.digest))) for suite in report.suites if suite.digest),
    ]
    machine = "".join(f"<li>{text(line)}</li>" for line in report.machine) or "<li>not recorded</li>"
    tables = [
        "<div><h3>Versions</h3>"
        + (
            '<table class="versions"><caption class="unseen">Versions of the packages that took part</caption>'
            '<thead class="unseen"><tr><th scope="col">Package</th><th scope="col">Version</th></tr></thead>'
            f"<tbody>{versions}</tbody></table></div>"
            if versions
            else "<p>not recorded</p></div>"
        ),
        f'<div><h3>Platform</h3><ul class="machine">{machine}</ul></div>',
        '<div class="wide"><h3>The run</h3><dl class="facts">'
        + "".join(f"<div><dt>{name}</dt><dd>{said}</dd></div>" for name, said in facts)
        + "</dl></div>",
    ]
    note = f"This command makes the report again.{spelled} Digests are SHA-256."
    return section("repeat", "To repeat it", [command, '<div class="columns">', *tables, "</div>"], note)


def _meaning(report: Report) -> str:
    paragraphs = [*report.notes, " ".join(caveats(report))]
    return section("meaning", "What this shows, and what not", [f"<p>{text(said)}</p>" for said in paragraphs])
