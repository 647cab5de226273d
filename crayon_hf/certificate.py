"""Parity certificates: which reference library a cartridge (a compiled tokenizer) agrees with, and on which inputs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from crayon_hf import _core
from crayon_hf.cartridges.cartridge_check import disagreement
from crayon_hf.cartridges.compiling import reference_of
from crayon_hf.cartridges.opened_source import beside
from crayon_hf.errors import CartridgeError, CrayonError
from crayon_hf.util.files import read_cartridge, read_source, write_atomic
from crayon_hf.util.wording import plural

if TYPE_CHECKING:
    from crayon_hf.parity.report import Report

SCHEMA = "crayon-hf/parity-certificate/1"


class CertificateError(CrayonError, ValueError):
    """A report or a cartridge cannot be certified, or a certificate cannot be read."""


@dataclass(frozen=True)
class Certificate:
    """A record that a cartridge and a reference library gave equal results, and how to repeat the comparison.

    It is not signed.
    """

    source_digest: str
    """SHA-256 (hex) of the ``tokenizer.json`` that the cartridge was compiled from."""
    target: str
    reference: Mapping[str, str]
    """``name`` and ``version`` of the reference library."""
    ours: Mapping[str, str]
    """The ``version`` of crayon_hf, and ``details``: its engine and instruction set."""
    inputs: int
    characters: int
    compared: tuple[str, ...]
    suites: tuple[Mapping[str, Any], ...]
    """For each suite of inputs: ``name``, ``kind``, ``inputs``, ``characters``, ``seed`` and ``digest``."""
    machine: tuple[str, ...]
    command: str
    started: str
    schema: str = field(default=SCHEMA)

    def summary(self) -> str:
        """Return the certificate in one line."""
        reference = f"{self.reference.get('name')} {self.reference.get('version')}"
        inputs = f"{plural(self.inputs, 'input')}, {plural(self.characters, 'character')}"
        return f"agreed with {reference} on {inputs}, {self.started}"


def of_report(report: Report) -> dict[str, Any]:
    """Return the certificate for a report. Raise CertificateError unless our engine encoded and all inputs agree."""
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
    """Write the certificate of a report into a cartridge, replacing a previous one.

    The new file is verified, then renamed over the old one. If an error occurs, the old file is unchanged.

    Args:
        path: The cartridge.
        report: A report of full agreement on this cartridge's tokenizer.json.

    Raises:
        CertificateError: The report shows differences, or is about another tokenizer.json, or the cartridge does not
            match the ``tokenizer.json`` beside it.
        CartridgeError: The cartridge is damaged.
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
    """Check that a cartridge matches the ``tokenizer.json`` beside it, and return the cartridge's engine.

    The contents of both files are compared, because a cartridge can record a false digest of the ``tokenizer.json``.

    Args:
        path: The cartridge.
        against: The library whose ids the cartridge must give, ``tokenizers`` or ``tiktoken``. If empty, the library
            that the cartridge's metadata names.

    Raises:
        CertificateError: The two files do not match, or the ``tokenizer.json`` cannot be read.
        CartridgeError: The cartridge is damaged.
        VocabularyError: The ``tokenizer.json`` is too large.
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
    """Return the certificate of a cartridge, or None if it has no certificate.

    If `where` is a path, the whole cartridge is verified first. docs/parity.md has examples.

    Args:
        where: The path of a cartridge, or its engine.

    Raises:
        CertificateError: The certificate is malformed, has another schema, or is for another ``tokenizer.json``. Do not
            trust it.
        CartridgeError: The cartridge is damaged.
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
