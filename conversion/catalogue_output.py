"""The output directory of a catalogue (DIR): its finished and unfinished vocabularies, and the index.

A vocabulary is completed in ``DIR/.catalogue/stage``, recorded in ``DIR/.catalogue/NAME.json``, and then renamed into
place. It is finished if its record has the entry's key, and each file has the recorded digest. So the next run never
takes the remains of a killed run for a finished vocabulary.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from conversion import script
from conversion.catalogue_entries import Entry, EntryError
from crayon_hf import Tokenizer, __version__, certificate
from crayon_hf.errors import CrayonError
from crayon_hf.parity.report.run import make_report
from crayon_hf.util.extras import needed
from crayon_hf.util.files import write_atomic

INDEX, SCHEMA = "catalogue.json", "crayon-hf/catalogue/1"

Record = dict[str, Any]


class UnexpectedIdsError(EntryError):
    """A text of an entry has other ids than the entry expects, or they decode to another text."""


class NotCertifiedError(EntryError):
    """A cartridge that does not agree fully with its reference."""


class Output:
    """The output directory, locked for this process. `names` are the names of all entries, in order."""

    def __init__(self, folder: Path, names: Sequence[str], *, is_flat: bool, strings: int) -> None:
        self.folder, self.names, self.is_flat, self.strings = folder, names, is_flat, strings
        self.index = folder / INDEX
        self.finished: dict[str, Record] = {}
        """The records of all finished vocabularies, whichever run has made them."""
        self._own = folder / ".catalogue"
        self._stage = self._own / "stage"

    def __enter__(self) -> Output:
        self._own.mkdir(parents=True, exist_ok=True)
        with needed("a catalogue", "hub"):
            from filelock import FileLock, Timeout
        self._lock = FileLock(self._own / "lock", timeout=0)
        try:
            self._lock.acquire()
        except Timeout as error:
            raise CrayonError(f"another run writes to {self.folder}: wait until it has ended") from error
        shutil.rmtree(self._stage, ignore_errors=True)  # left by a killed run
        records = {name: self._record(name) for name in self.names}
        self.finished = {name: record for name, record in records.items() if record and self._is_whole(record)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        shutil.rmtree(self._stage, ignore_errors=True)
        self._lock.release()

    def cartridge(self, name: str) -> Path:
        """The path of a vocabulary's cartridge."""
        return self.folder / (f"{name}.dat" if self.is_flat else f"{name}/tokenizer.dat")

    # -- one vocabulary

    def make(self, entry: Entry, catalogue: Path) -> str:
        """Make the entry's files unless they are finished. Return the outcome in words. Raise EntryError or errors of
        `convert`."""
        key = entry.key(self.is_flat, self.strings, __version__)
        if self.finished.get(entry.name, {}).get("key") == key:
            self._write_index()  # a killed run may not have written it
            return "is finished"
        self._check_place(entry.name)
        converted, source = entry.read(catalogue.parent)
        shutil.rmtree(self._stage, ignore_errors=True)
        output = self._stage / (f"{entry.name}.dat" if self.is_flat else entry.name)
        written = script.write_quietly(converted, str(output), source)
        _check_texts(entry, written.paths[-1])
        certified = self._certify(entry, written.paths[-1], catalogue) if self.strings else None
        files = {os.path.relpath(path, self._stage): path for path in written.paths}
        record = {
            "key": key,
            "name": entry.name,
            "licence": entry.licence,
            "source": entry.repo or entry.encoding or entry.path,
            "source_sha256": source.digest,
            "ids": written.ids,
            "files": [
                {"path": name, "bytes": os.path.getsize(path), "sha256": script.digest_of(path)}
                for name, path in files.items()
            ],
            "versions": {"crayon-hf": __version__, **({} if certified is None else _reference(certified))},
            "certificate": None if certified is None else certified.summary(),
        }
        write_atomic(self._own / f"{entry.name}.json", json.dumps(record).encode())
        self._place(entry.name, list(files))
        self.finished[entry.name] = record
        self._write_index()
        return "not compared" if certified is None else certified.summary()

    def _certify(self, entry: Entry, cartridge: str, catalogue: Path) -> certificate.Certificate:
        command = f"python -m conversion.catalogue {catalogue} -o {self.folder} --only {entry.name}"
        command += f" --strings {self.strings}" + (" --dat" if self.is_flat else "")
        report = make_report(
            cartridge, strings=self.strings, texts=(), speed=False, cartridge=cartridge, command=command
        )
        if not report.agreed:
            why = "; ".join(suite.failure for suite in report.suites if suite.failure)
            shown = f", such as {report.differences[0].smallest}" if report.differences else ""
            raise NotCertifiedError(
                f"{entry.name}: {report.differing} of {report.inputs} inputs differ from {report.reference.name}{shown}"
                + (f"; {why}" if why else "")
            )
        certificate.certify(cartridge, report)
        found = certificate.read(cartridge)
        assert found is not None
        return found

    def _check_place(self, name: str) -> None:
        """Raise EntryError if the path is taken by a file that no run over this directory has made."""
        places = [f"{name}.json", f"{name}.dat"] if self.is_flat else [name]
        if self._record(name) is None and (there := [each for each in places if os.path.lexists(self.folder / each)]):
            raise EntryError(f"{name}: {self.folder / there[0]} exists, and no run over {self.folder} has made it")

    def _place(self, name: str, files: Sequence[str]) -> None:
        """Move a vocabulary from the stage to its place: a new directory by one rename, otherwise file by file, the
        cartridge last."""
        if not self.is_flat and not (self.folder / name).exists():
            os.replace(self._stage / name, self.folder / name)
            return
        for file in files:
            os.replace(self._stage / file, self.folder / file)

    # -- the whole catalogue

    def _record(self, name: str) -> Record | None:
        try:
            record: Record = json.loads((self._own / f"{name}.json").read_bytes())
        except FileNotFoundError:
            return None
        return record

    def _is_whole(self, record: Record) -> bool:
        try:
            return all(script.digest_of(str(self.folder / file["path"])) == file["sha256"] for file in record["files"])
        except FileNotFoundError:
            return False

    def _write_index(self) -> None:
        records = [self.finished[name] for name in self.names if name in self.finished]
        entries = [{key: value for key, value in record.items() if key != "key"} for record in records]
        document = {"schema": SCHEMA, "vocabularies": entries}
        data = json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"
        if not self.index.is_file() or self.index.read_bytes() != data:
            write_atomic(self.index, data)


def _reference(certified: certificate.Certificate) -> dict[str, str]:
    return {certified.reference["name"]: certified.reference["version"]}


def _check_texts(entry: Entry, cartridge: str) -> None:
    """Raise UnexpectedIdsError unless every text has the expected ids, which decode to the expected text."""
    tokenizer = Tokenizer.from_file(cartridge)
    for text, ids, decoded in entry.texts:
        found = tuple(tokenizer.encode(text).ids)
        if found != ids:
            raise UnexpectedIdsError(f"{entry.name}: {text!r} has the ids {list(found)}, expected {list(ids)}")
        if decoded is not None and (back := tokenizer.decode(ids)) != decoded:
            raise UnexpectedIdsError(f"{entry.name}: {list(ids)} decode to {back!r}, expected {decoded!r}")
