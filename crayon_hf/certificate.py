"""The parity certificate of a cartridge: which reference it agrees with, and on which inputs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.cartridges.cartridge_check import disagreement
from crayon_hf.cartridges.source_json import reference_of
from crayon_hf.errors import CartridgeError, CrayonError
from crayon_hf.tokenizer.opening import beside
from crayon_hf.util.files import read_cartridge, read_source, write_atomic
from crayon_hf.util.wording import plural

if TYPE_CHECKING:
    from crayon_hf.parity.report import Report

SCHEMA = "crayon-hf/parity-certificate/1"


class CertificateError(CrayonError, ValueError):
    """A report that no certificate can be made of, or a certificate that cannot be read."""


@dataclass(frozen=True)
class Certificate:
    """What a certificate says. It is not signed: it says what was measured, and how to measure it again."""

    source_digest: str
    """SHA-256 (hex) of the ``tokenizer.json`` that the cartridge is compiled from."""
    target: str
    reference: Mapping[str, str]
    """``name`` and ``version``."""
    ours: Mapping[str, str]
    """``version`` and ``details``: engine and instruction set."""
    inputs: int
    characters: int
    compared: tuple[str, ...]
    suites: tuple[Mapping[str, Any], ...]
    """Each with ``name``, ``kind``, ``inputs``, ``characters``, ``seed`` and ``digest``."""
    machine: tuple[str, ...]
    command: str
    started: str
    schema: str = field(default=SCHEMA)

    def summary(self) -> str:
        """It in one line."""
        reference = f"{self.reference.get('name')} {self.reference.get('version')}"
        inputs = f"{plural(self.inputs, 'input')}, {plural(self.characters, 'character')}"
        return f"agreed with {reference} on {inputs}, {self.started}"


def of_report(report: Report) -> dict[str, Any]:
    """The certificate of a report. CertificateError unless it agrees fully, on our own engine."""
    if not report.agreed:
        raise CertificateError(
            f"no certificate for {report.target.name}: {report.differing} of {report.inputs} inputs differ from "
            f"{report.reference.name}, or something was not compared; a certificate needs full agreement"
        )
    if report.ours.details.partition(",")[0] != "native":
        raise CertificateError(f"no certificate for {report.target.name}: it is not native")
    if not report.target.source_digest:
        raise CertificateError(f"no certificate for {report.target.name}: the report does not say what was compiled")
    suites = [
        {name: getattr(suite, name) for name in ("name", "kind", "inputs", "characters", "seed", "digest")}
        for suite in report.suites
    ]
    return {
        "schema": SCHEMA,
        "source_digest": report.target.source_digest,
        "target": report.target.name,
        "reference": {"name": report.reference.name, "version": report.reference.version},
        "ours": {"version": report.ours.version, "details": report.ours.details},
        "inputs": report.inputs,
        "characters": report.characters,
        "compared": list(report.compared),
        "suites": suites,
        "machine": list(report.machine),
        "command": report.command,
        "started": report.started,
    }


def certify(path: str | os.PathLike[str], report: Report) -> None:
    """Write the certificate of a report into a cartridge, in place of one that it may have.

    The file is replaced as a whole, after the new one has been verified; on an error it is what it was.
    CertificateError when the report is not one of full agreement, when it is not of what this cartridge is compiled
    from, or when the cartridge does not say what the ``tokenizer.json`` beside it says; CartridgeError for a file that
    is no whole cartridge.
    """
    text = json.dumps(of_report(report), ensure_ascii=False, separators=(",", ":"))
    name = os.fspath(path)
    before = check(name, report.reference.name)
    if before.source_digest != report.target.source_digest:
        raise CertificateError(
            f"{name} was compiled from another tokenizer.json ({before.source_digest[:12]}) than the report compared "
            f"({report.target.source_digest[:12]})"
        )
    made = _core.with_certificate(read_cartridge(name), text)
    _check(_core.Engine.from_bytes(made), before.source_digest, text, name)
    write_atomic(name, made)
    _check(_core.Engine.open(name, verify=True), before.source_digest, text, name)


def check(path: str | os.PathLike[str], against: str = "") -> _core.Engine:
    """The engine of a cartridge that may be certified: one that says what the ``tokenizer.json`` beside it says.

    The digest in a cartridge is whatever its writer put there, so that the two are compared as meanings. `against` is
    the reference; by default the library that the cartridge says its ids are those of. CertificateError says why not,
    CartridgeError that the file is no whole cartridge, VocabularyError
    that the ``tokenizer.json`` is too large.
    """
    name = os.fspath(path)
    engine = _core.Engine.open(name, verify=True)
    source = beside(name)
    try:
        document = read_source(source)
    except OSError as error:
        raise CertificateError(
            f"{name}: {source}, which it was compiled from, cannot be read ({error.strerror}), so "
            "the two cannot be compared"
        ) from error
    reference = "tiktoken" if (against or reference_of(engine.metadata)) == "tiktoken" else "tokenizers"
    if reason := disagreement(engine, sha256(document).hexdigest(), document, reference):
        raise CertificateError(f"{name} is not the cartridge of {source}: {reason}; run crayon-hf convert again")
    return engine


def _check(engine: _core.Engine, digest: str, text: str, name: str) -> None:
    if engine.source_digest != digest or engine.certificate != text:
        raise CartridgeError(f"{name}: the certificate could not be written into it")


def read(where: str | os.PathLike[str] | _core.Engine) -> Certificate | None:
    """The certificate of a cartridge, by its path or its engine; None when it has none.

    CertificateError for one that is malformed, of another schema, or of another source than the cartridge's own: it is
    not to be trusted. A path is verified whole first.

    docs/parity.md has examples.
    """
    engine = where if isinstance(where, _core.Engine) else _core.Engine.open(os.fspath(where), verify=True)
    if engine.certificate is None:
        return None
    found = _parsed(engine.certificate)
    if found.source_digest != engine.source_digest:
        raise CertificateError(
            "the certificate is for another tokenizer.json than the one that this cartridge was compiled from"
        )
    return found


def _parsed(text: str) -> Certificate:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"the certificate is not JSON: {error}") from error
    if not isinstance(plain, dict) or plain.get("schema") != SCHEMA:
        raise CertificateError(f"the certificate is not of schema {SCHEMA}")
    names = [each.name for each in fields(Certificate)]
    if missing := [name for name in names if name not in plain]:
        raise CertificateError(f"the certificate lacks {', '.join(missing)}")
    kinds: dict[str, type] = {"inputs": int, "characters": int, "reference": dict, "ours": dict}
    kinds |= dict.fromkeys(("compared", "suites", "machine"), list)
    for name in names:
        if type(plain[name]) is not kinds.get(name, str):
            raise CertificateError(f"the certificate's {name} is {type(plain[name]).__name__}")
    listed = {name: tuple(plain[name]) for name, kind in kinds.items() if kind is list}
    return Certificate(**{**{name: plain[name] for name in names}, **listed})
