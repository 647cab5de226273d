"""A report as one HTML page that holds all it needs: no network, no script but its own, light and dark."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from .html_agreement import categories, differences, suites
from .html_speed import speed
from .markup import MARKS, mark, section, text
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
_BREAKS = "\n\t"
"""What a command may have besides text: it is shown, and copied, as it is."""


def to_html(report: Report) -> str:
    """The page, UTF-8 with a newline at the end; the same report gives the same page.

    Everything from the report is escaped: characters that cannot be seen, that turn the direction of text or that no
    file can hold (lone surrogates) are spelled out. The page asks for nothing: styles and script are inline and named
    by digest in its Content-Security-Policy.
    """
    style, script = (_resource(name) for name in ("page.css", "page.js"))
    parts = {
        "differences": differences(report),
        "categories": categories(report),
        "suites": suites(report),
        "speed": speed(report),
        "repeat": _repeat(report),
        "meaning": _meaning(report),
    }
    said = verdict(report)
    links = "".join(f'<li><a href="#{name}">{_NAMES[name]}</a></li>' for name, part in parts.items() if part)
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = f"{visible(report.target.name)}: {said.headline.lower()} \u00b7 parity report"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{text(title)}</title>",
            # Without one, a server that hands the page out would be asked for /favicon.ico.
            '<link rel="icon" href="data:,">',
            f"<style>{style}</style>",
            f"<script>{script}</script>",
            "</head>",
            "<body>",
            MARKS,
            '<a class="skip" href="#main">To the report</a>',
            '<header class="top"><p class="brand">crayon-hf <span>parity report</span></p>',
            f'<nav aria-label="On this page"><ul>{links}</ul></nav>',
            '<button type="button" id="theme" aria-pressed="false" hidden>Dark</button></header>',
            '<main id="main" tabindex="-1">',
            _banner(report),
            *(part for part in parts.values() if part),
            "</main>",
            f"<footer><p>Made by <code>crayon-hf parity</code>, {text(report.started)}, in "
            f"{duration(report.seconds)}. {text(report.schema)}</p></footer>",
            "</body>",
            "</html>",
            "",
        ]
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
    shown = visible(report.command, keep=_BREAKS)
    spelled = "" if shown == report.command else " Characters that cannot be shown are spelled out in it."
    command = (
        '<div class="command"><pre id="command" tabindex="0" aria-label="The command"><code>'
        f"{_command(report.command)}</code></pre>"
        '<div><button type="button" id="copy" aria-describedby="command" hidden>Copy</button>'
        '<span id="copied" role="status"></span></div></div>'
    )
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


def _command(command: str) -> str:
    """Each argument in an element of its own, so that lines break between arguments and not at their hyphens."""
    parts = re.split(f"([ {_BREAKS}]+)", command)
    return "".join(
        text(part, keep=_BREAKS) if place % 2 or not part else f"<span>{text(part)}</span>"
        for place, part in enumerate(parts)
    )


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip()


def _digest(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"
