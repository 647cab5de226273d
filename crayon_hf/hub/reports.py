"""The parity report of a publication: the given one, the repository's own, or a new one."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.cartridges.compiling import reference_of
from crayon_hf.errors import CrayonError
from crayon_hf.formats.repository import CARTRIDGE
from crayon_hf.hub.card import REPORT_JSON
from crayon_hf.hub_access import client, staging
from crayon_hf.hub_access.staging import Staged
from crayon_hf.util.files import read_source

if TYPE_CHECKING:
    from crayon_hf.parity.report.model import Report

RUN: dict[str, Any] = {}
"""Arguments of `make_report` that set the size of the comparison. If empty, the defaults apply."""

_PAUSE = 5.0
"""Seconds between two lines of progress."""


def report_of(
    staged: Staged,
    cartridge: bytes,
    place: client.Place,
    before: Mapping[str, bytes],
    given: str | os.PathLike[str] | Report | None,
    speed: bool,
    say: Callable[[str], None],
) -> Report:
    """Return the parity report to publish. Raises CrayonError unless it shows full agreement for this tokenizer.json.

    `given` is a report or its path. Without it, the repository's report is kept if a new one would say the same;
    otherwise the comparison is run. `before` has the repository's present files by name.
    """
    from crayon_hf.parity.report.model import Report, ReportError

    if given is None:
        kept = _kept(staged, before, speed)
        if kept is not None:
            say("the report in the repository is about this tokenizer.json and version: it is kept")
        report = kept or _run(staged, cartridge, place, speed, say)
        speed = speed or kept is not None
        again = "this is a defect of crayon-hf: please report it with the output of `crayon-hf parity`"
    elif isinstance(given, Report):
        report, again = given, "run `crayon-hf parity` on the published source"
    else:
        try:
            report = Report.from_json(read_source(os.fspath(given)))
        except ReportError as error:
            raise CrayonError(f"{os.fspath(given)}: {error}") from error
        again = f"run `crayon-hf parity ... --json {os.fspath(given)}` on the published source"
    if report.target.source_digest != staged.digest:
        raise CrayonError(
            f"the parity report is about another tokenizer.json (SHA-256 {report.target.source_digest[:16]}..., not "
            f"{staged.digest[:16]}...): {again}; nothing was uploaded"
        )
    if report.ours.version != _core.__version__:
        raise CrayonError(
            f"the parity report was made with crayon-hf {report.ours.version:.40}, and the cartridge is compiled with "
            f"{_core.__version__}: {again}; nothing was uploaded"
        )
    if report.reference.name == report.ours.name:
        raise CrayonError(f"the parity report does not compare with a reference: {again}; nothing was uploaded")
    if not report.agreed:
        raise CrayonError(
            f"the parity report does not agree fully: {report.differing:,} of {report.inputs:,} inputs differ: "
            f"{again}; nothing was uploaded"
        )
    return report if speed else replace(report, speeds=())


def _kept(staged: Staged, before: Mapping[str, bytes], speed: bool) -> Report | None:
    """Return the repository's report if a new run would say the same: keeping it avoids a commit without a change."""
    from crayon_hf.parity.report.model import Report, ReportError

    try:
        report = Report.from_json(before.get(REPORT_JSON, b""))
    except ReportError:
        return None
    is_same = report.target.source_digest == staged.digest and report.ours.version == _core.__version__
    return report if is_same and report.agreed and (report.speeds or not speed) else None


def _run(staged: Staged, cartridge: bytes, place: client.Place, speed: bool, say: Callable[[str], None]) -> Report:
    """Compare the files that will be published with their reference."""
    from crayon_hf.parity.report.run import make_report

    with tempfile.TemporaryDirectory(prefix="crayon-publish-") as directory:
        folder = os.path.join(directory, place.repo.rpartition("/")[2])
        beside = {name: data for name, data in staged.files.items() if "/" not in name}
        staging.write_files(folder, {**beside, CARTRIDGE: cartridge})
        target = os.path.join(folder, CARTRIDGE)
        say(f"comparing with {reference_of(staged.metadata)}")
        report: Report = make_report(target, speed=speed, progress=_seldom(say), **RUN)
    command = report.command.replace(target, str(place))
    return replace(report, target=replace(report.target, name=place.repo), command=command)


def _seldom(say: Callable[[str], None]) -> Callable[[str], None]:
    """Return `say`, limited to one line in `_PAUSE` seconds; other lines are dropped."""
    said = time.monotonic()

    def maybe(line: str) -> None:
        nonlocal said
        if time.monotonic() >= said + _PAUSE:
            said = time.monotonic()
            say(line)

    return maybe
