"""Every hostile file, opened in every public way in a child process, gives the documented result."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.hostile import good, places
from tests.hostile.case import ACCEPTED, Case
from tests.hostile.make import PARTS, make
from tests.hostile.promises import pattern_of, promised
from tests.support.cartridge_cases import answers
from tests.support.cartridge_text import text_source
from tests.support.sampling import sampled

pytestmark = pytest.mark.skipif(os.name == "nt", reason="limits of processes")

IN_TURN = ("load_profile", "using_profile", "profile", "encode", "inspect", "info")
"""Other ways to open a file. Each case is opened by the engine or `Tokenizer.from_file`, and in one of these ways."""


class Verdict(NamedTuple):
    case: Case
    way: str
    path: str
    error: str
    message: str
    fault: str


class Gallery(NamedTuple):
    part: str
    cases: list[tuple[Case, Path]]
    goods: list[str]


@pytest.fixture(scope="module")
def goods(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The paths of valid files, including the originals of hostile files."""
    directory = tmp_path_factory.mktemp("good")
    files = {"text.dat": good.text_tables(), "bytes.dat": good.byte_tables(), "version_2.dat": good.version_2()}
    (directory / "text.json").write_bytes(text_source("llama_like"))  # the conversion of a cartridge reads it
    (directory / "bytes.json").write_bytes(good.byte_source())
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return [str(directory / name) for name in files]


@pytest.fixture(scope="module", params=sampled(PARTS, 2))
def gallery(request: pytest.FixtureRequest, goods: list[str], tmp_path_factory: pytest.TempPathFactory) -> Gallery:
    part: str = request.param
    return Gallery(part, make(tmp_path_factory.mktemp(part), PARTS[part]()), goods)


def ways_of(part: str, number: int, case: Case, path: Path) -> Iterator[str]:
    if case.only:
        yield case.only
        if case.only == "converted":
            yield "convert"
        return
    if part in ("containers", "contents"):  # they are many, and only the engine reads them
        yield "engine"
        if number % 3:
            return
        number //= 3
    elif (
        case.error != ACCEPTED or part == "version_2"
    ):  # the conversion of a cartridge reads the tokenizer.json beside it
        yield from ("converted", "convert") if case.promise == places.TOO_MANY else ("convert",)
    yield "tokenizer"
    way = IN_TURN[number % len(IN_TURN)]
    if way == "info" and part == "places" and case.error == ACCEPTED:
        way = "encode"  # info also needs the tokenizer.json of a cartridge
    if way != "profile" or (os.path.isfile(path) and path.stem == "hostile"):  # profiles are files with plain names
        yield way


def judged(requests: list[tuple[Case, str, str]], goods: list[str], directory: Path) -> list[Verdict]:
    """Open cases in child processes, and return a verdict for each. If a case kills its child process, or keeps it
    busy, the verdict says so."""
    code = "from tests.hostile.child import main; main()"
    lines: list[list[Any]] = [[number, way, path] for number, (_, way, path) in enumerate(requests)]
    found = answers(lines, code, *goods, CRAYON_CACHE_DIR=str(directory / "cache"))
    return [
        Verdict(*request, *(found[number][1:] or ("the child", found[number][0], "")))
        for number, request in enumerate(requests)
    ]


def fault_of(verdict: Verdict) -> str | None:
    """Return how a verdict breaks the documentation's promise, or None."""
    case, message = verdict.case, verdict.message
    if verdict.fault:
        return verdict.fault
    about = os.path.join(os.path.dirname(verdict.path), case.names) if case.names else verdict.path
    if about != verdict.path:
        message = message.removeprefix(f"{verdict.path}: ")
    shown = {about, repr(about)[1:-1]}
    is_command = verdict.error == "Failed"
    if is_command:
        head, _, line = message.partition("crayon-hf: error: ")
        if head != "1: " or line[-1:] != "\n" or not line[:-1].isprintable():
            return f"not one line and the exit code 1: {message!r}"
        message = line[:-1]
        shown = {repr(" ".join(about.split()))[1:-1]}
    elif verdict.error != case.error:
        return f"{verdict.error}, not {case.error}: {message}"
    if case.error == ACCEPTED:
        return f"refused: {message}" if is_command else None
    if not any(name in message for name in shown):
        return f"no name of the file: {message!r}"
    if not is_command and "\n" in message.replace(verdict.path, ""):
        return f"more than one line: {message!r}"
    if not is_command:
        rows = [case.promise] if case.promise else [row for row, error in promised().items() if error == case.error]
        if not any(row in promised() and pattern_of(row, about).fullmatch(message) for row in rows):
            return f"not as the page says: {message!r}, expected {case.promise!r}"
    # Conversions write files as transformers does, so Python's parser and the reference see a document first.
    if verdict.way != "convert" and not re.search(case.says, message):
        return f"{message!r} does not say {case.says}"
    return None


def assert_promises(verdicts: list[Verdict]) -> None:
    faults = {f"{verdict.case.name}, {verdict.way}": fault_of(verdict) for verdict in verdicts}
    wrong = [f"{title}: {fault}" for title, fault in faults.items() if fault]
    assert not wrong, f"{len(wrong)} of {len(faults)}\n" + "\n".join(wrong)


def requests_of(gallery: Gallery) -> list[tuple[Case, str, str]]:
    assert len({case.name for case, _ in gallery.cases}) == len(gallery.cases)
    return [
        (case, way, str(path))
        for number, (case, path) in enumerate(gallery.cases)
        for way in ways_of(gallery.part, number, case, path)
    ]


def test_a_sample_of_the_ways_in(gallery: Gallery, tmp_path: Path) -> None:
    assert_promises(judged(requests_of(gallery)[::10], gallery.goods, tmp_path))


@pytest.mark.slow
def test_every_way_in(gallery: Gallery, tmp_path: Path) -> None:
    assert_promises(judged(requests_of(gallery), gallery.goods, tmp_path))
