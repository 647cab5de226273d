"""The commands ``info``, which describes a tokenizer, and ``list``, which lists the profiles."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crayon_hf.cli.arguments import DEFAULT, TARGET, Arguments, UsageError, command, option
from crayon_hf.cli.colour import padded, shortened
from crayon_hf.cli.output import as_json, print_line
from crayon_hf.cli.tokenizers import open_named, plain_name
from crayon_hf.display.cells import plain, width_of
from crayon_hf.display.html import plain_text
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.numbers import shown_size
from crayon_hf.util.wording import plural

_SHOWN_TOKENS = 6


@command(
    "info",
    examples=(
        ("crayon-hf info", "the profile lite"),
        ("crayon-hf info my-model/", "a directory, a file, a profile, a name on the Hub"),
        ("crayon-hf info my-model/ --sections", "the parts of its cartridge as well"),
        ("crayon-hf info my-model/ --json", "all facts, for programs"),
    ),
)
@TARGET
@option("-t", "--tokenizer", hidden=True, help="the same")  # as in other commands
@option("--sections", is_flag=True, help="list the sections of the cartridge")
@option("--json", is_flag=True, help="print one JSON object with all facts")
def info(arguments: Arguments) -> int:
    """Shows a tokenizer in a few lines: its model, its vocabulary, its source, and which engine encodes."""
    from crayon_hf import _core

    if arguments.target is not None and arguments.tokenizer is not None:
        raise UsageError("a TARGET and -t are alternatives: give one of them")
    target = arguments.target or arguments.tokenizer or DEFAULT
    tokenizer = open_named(target)
    facts = _facts(plain_name(target), tokenizer)
    cartridge = facts["cartridge"]
    sections = [] if cartridge is None else _core.cartridge_sections(cartridge)
    certificate, says = _certificate(tokenizer)
    if arguments.json:
        print_line(as_json({**facts, "certificate": certificate, "sections": sections}))
        return 0
    for name, text in (*_lines(facts, tokenizer, says), *_gpu_lines(facts["gpu_engines"])):
        print_line(f"{name:<11} {text}")
    if arguments.sections:
        print_line(f"\n{'section':<24} {'offset':>12} {'bytes':>12}")
        for section in sections:
            print_line(f"{section['name']:<24} {section['offset']:>12} {section['size']:>12}")
    return 0


def _facts(target: str, tokenizer: Tokenizer) -> dict[str, Any]:
    from crayon_hf import _core
    from crayon_hf.device import devices
    from crayon_hf.hub.store import record_of

    facts: dict[str, Any] = {
        "tokenizer": target,
        **tokenizer.engine_report(),
        "cpu_levels": _core.cpu_levels(),
        "gpu_engines": devices.engine_facts(),
        "vocab_size": tokenizer.get_vocab_size(),
        "added_tokens": len(tokenizer.get_added_tokens_decoder()),
        **tokenizer.engine_info(),
        "source_digest": tokenizer.source_digest,
    }
    pulled = None if facts["cartridge"] is None else record_of(facts["cartridge"])
    if pulled is not None:
        facts["pulled"] = {key: getattr(pulled, key) for key in ("repo", "revision", "commit")}
    return facts


def _lines(facts: dict[str, Any], tokenizer: Tokenizer, certificate: str) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each line that ``info`` prints on a terminal."""
    added = tokenizer.get_added_tokens_decoder()
    special = [f"{plain(token.content)} {id}" for id, token in sorted(added.items()) if token.special]
    more = f" and {len(special) - _SHOWN_TOKENS} more" if len(special) > _SHOWN_TOKENS else ""
    pulled = facts.get("pulled")
    yield "name", facts["tokenizer"] + (f", pulled from {pulled['repo']}@{pulled['revision']}" if pulled else "")
    yield "model", _model(facts, tokenizer)
    yield "vocabulary", f"{plural(facts['vocab_size'], 'token')}, {len(added):,} of them added"
    yield "special", (", ".join(special[:_SHOWN_TOKENS]) + more) or "none"
    yield "ids as", f"{facts['reference']} gives them"
    if facts["cartridge"] is None:
        yield "engine", f"{facts['engine']}: {facts['reason']}" if facts["reason"] else str(facts["engine"])
        return
    origin = {"repository": "came with the tokenizer", "cache": "compiled here, and kept"}.get(facts["origin"], "")
    size = shown_size(os.path.getsize(facts["cartridge"]))
    yield "cartridge", f"{facts['cartridge']} ({size}{', ' if origin else ''}{origin})"
    yield "engine", f"{facts['engine']}, with {facts['cpu']} instructions"
    yield "parity", certificate
    if facts["refused"]:
        yield "not used", f"the cartridge beside it: {facts['refused']}"


def _gpu_lines(engine_facts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield lines like `_lines` about GPU engines: those of this build, and missing ones that the machine could use."""
    from crayon_hf.device import engines

    for kind, what in engine_facts.items():
        if what.startswith("built") or engines.is_missed(kind):
            yield kind, what


def _model(facts: dict[str, Any], tokenizer: Tokenizer) -> str:
    kind = type(tokenizer.model).__name__
    words = [f"{kind} over {'bytes' if facts.get('tokens') == 'bytes' else 'characters'}"]
    if facts.get("merges"):
        words.append(plural(facts["merges"], "merge"))
    if facts.get("family") and kind == "BPE":
        words.append(f"cuts text as {facts['family']} does")
    return ", ".join(words)


def _certificate(tokenizer: Tokenizer) -> tuple[Any, str]:
    """The parity certificate of the tokenizer's cartridge, and a description of it."""
    from crayon_hf import _core
    from crayon_hf.certificate import CertificateError, read

    engine: Any = tokenizer._current_engine()
    if not isinstance(engine, _core.Engine) or engine.certificate is None:
        return None, "no certificate (crayon-hf parity TARGET --certify writes one)"
    try:
        found = read(engine)
        return json.loads(engine.certificate), found.summary() if found else ""
    except CertificateError as error:
        return None, f"not to be trusted: {error}"


@command("list", examples=(("crayon-hf list", "names, sizes, origins"), ("crayon-hf list --json", "for programs")))
@option("--json", is_flag=True, help="print one JSON object for each profile")
def list_profiles(arguments: Arguments) -> int:
    """Lists the profiles: the tokenizers that have a name, in the order in which they are found.

    A profile is part of the package, pulled from the Hub, or a file in a directory of CRAYON_PROFILE_DIR.
    """
    rows = list(_profiles())
    if arguments.json:
        for row in rows:
            print_line(as_json(row))
        return 0
    shown = [
        (
            row["name"],
            f"{row['tokens']:,}" if row["tokens"] is not None else "?",
            shown_size(row["bytes"]),
            row["origin"],
            row["path"],
        )
        for row in rows
    ]
    titles = ("name", "tokens", "size", "origin", "path")
    table = [titles, *(tuple(map(plain_text, row)) for row in shown)]
    widths = [min(40, max(width_of(cells[i]) for cells in table)) for i in range(4)]
    for cells in table:
        fields = [padded(cells[i], widths[i], right=i in (1, 2)) for i in range(4)]
        print_line("  ".join([*fields, shortened(cells[4], 200)]).rstrip())
    return 0


def _profiles() -> Iterator[dict[str, Any]]:
    from crayon_hf.cartridges.search_path import find_profile, profile_names, search_path
    from crayon_hf.errors import CrayonError

    seen: set[str] = set()
    for directory in search_path():
        for name in profile_names(directory):
            if name in seen:
                continue
            try:
                profile = find_profile(name)
            except (CrayonError, ValueError):  # not a valid profile
                continue
            seen.add(name)
            paths = [path for path in (profile.cartridge, profile.source) if path is not None]
            yield {
                "name": name,
                "tokens": _tokens_of(profile.cartridge),
                "bytes": paths[0].stat().st_size,  # the size of the file at `path`, as ``info`` shows it
                "origin": _origin_of(paths[0]),
                "path": str(paths[0]),
            }


def _tokens_of(cartridge: Path | None) -> int | None:
    """Return the number of tokens of a profile, or None if it has no valid cartridge."""
    from crayon_hf.cartridges import cache
    from crayon_hf.errors import CartridgeError

    try:
        return None if cartridge is None else cache.open_cartridge(str(cartridge)).get_vocab_size(True)
    except (CartridgeError, OSError):
        return None


def _origin_of(path: Path) -> str:
    from crayon_hf.cartridges import search_path
    from crayon_hf.hub.store import record_of

    if path.parent == Path(search_path.__file__).parents[1] / "profiles":
        return "part of the package"
    record = record_of(path)
    return f"pulled from {record.repo}@{record.revision}" if record is not None else "your own file"
