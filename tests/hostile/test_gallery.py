"""Every hostile file, opened by every public way in a child process, gives what the documentation promises for it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from crayon_hf import CartridgeError, CrayonVocab, Tokenizer, VocabularyError, _core
from tests.hostile import good, places
from tests.hostile.case import ACCEPTED, CARTRIDGE, Case
from tests.hostile.make import PARTS, make
from tests.hostile.promises import pattern_of, promised
from tests.support.cartridge_text import text_source
from tests.support.sampling import sampled

pytestmark = pytest.mark.skipif(os.name == "nt", reason="limits of processes")

IN_TURN = ("load_profile", "using_profile", "profile", "encode", "inspect", "info")
"""Cases are opened by the engine or `Tokenizer.from_file`, and by one of these."""


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
    """The good files; what a hostile one was made from is among them."""
    directory = tmp_path_factory.mktemp("good")
    files = {"text.dat": good.text_tables(), "bytes.dat": good.byte_tables(), "version_2.dat": good.version_2()}
    (directory / "text.json").write_bytes(text_source("llama_like"))  # what is converted of a cartridge
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
    if part in ("containers", "contents", "lies"):  # there are many, and what is behind the engine is the same for all
        yield "engine"
        if number % 3:
            return
        number //= 3
    elif case.error != ACCEPTED or part == "version_2":  # of a cartridge, the tokenizer.json beside it is converted
        yield from ("converted", "convert") if case.promise == places.TOO_MANY else ("convert",)
    yield "tokenizer"
    way = IN_TURN[number % len(IN_TURN)]
    if way != "profile" or (os.path.isfile(path) and path.stem == "hostile"):  # only a file is one, with a plain name
        yield way


def judged(requests: list[tuple[Case, str, str]], goods: list[str], directory: Path) -> list[Verdict]:
    """What each case gives. One that kills its child, or keeps it busy, gets that for a verdict."""
    verdicts: dict[int, list[str]] = {}
    root = Path(__file__).parents[2]
    path = os.pathsep.join([*(entry for entry in sys.path if entry), str(root)])
    environment = os.environ | {"PYTHONPATH": path, "CRAYON_CACHE_DIR": str(directory / "cache")}
    while len(verdicts) < len(requests):
        left = [(i, way, name) for i, (_, way, name) in enumerate(requests) if i not in verdicts]
        done = subprocess.run(
            [sys.executable, "-P", "-m", "tests.hostile.child", *goods]
            if sys.version_info >= (3, 11)
            else [sys.executable, "-m", "tests.hostile.child", *goods],
            input="".join(json.dumps(request) + "\n" for request in left),
            capture_output=True,
            encoding="utf-8",
            env=environment,
            cwd=directory,
            timeout=400,
            check=False,
        )
        for line in done.stdout.splitlines():
            number, _, *verdict = json.loads(line)
            verdicts[number] = verdict
        assert done.stdout or done.returncode < 0, done.stderr  # it judged nothing at all
        guilty = next((i for i, _, _ in left if i not in verdicts), None)
        if guilty is not None:
            verdicts[guilty] = ["the child", f"ended with {done.returncode}: {done.stderr[-500:]}", ""]
    return [Verdict(*request, *verdicts[i]) for i, request in enumerate(requests)]


def fault_of(verdict: Verdict) -> str | None:
    """What is wrong with a verdict; None if nothing is."""
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
    elif verdict.error == "Refused" and case.error == CARTRIDGE:
        pass
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
    # What is converted is written as transformers would: Python's parser and the reference see a document first.
    if verdict.way != "convert" and not re.search(case.says, message):
        return f"{message!r} does not say {case.says}"
    return None


def assert_promises(verdicts: list[Verdict]) -> None:
    """Of a lie, the engine says what the page says. Other ways make the checks of memory: what passes them is used."""
    unnoticed = {verdict.case.name for verdict in verdicts if (verdict.way, verdict.error) == ("memory", ACCEPTED)}
    noticed = {verdict.case.name for verdict in verdicts if verdict.way == "memory"} - unnoticed
    faults: dict[str, str | None] = {}
    for verdict in verdicts:
        case, title = verdict.case, f"{verdict.case.name}, {verdict.way}"
        if verdict.way == "engine" or case.name not in unnoticed | noticed:
            faults[title] = fault_of(verdict)
        elif case.name in noticed:  # by another of its faults, perhaps
            faults[title] = fault_of(verdict._replace(case=case._replace(says="", promise="")))
        else:
            faults[title] = None if verdict.fault.startswith("it was opened") else verdict.fault
    wrong = [f"{title}: {fault}" for title, fault in faults.items() if fault]
    assert not wrong, f"{len(wrong)} of {len(faults)}\n" + "\n".join(wrong)


def requests_of(gallery: Gallery) -> list[tuple[Case, str, str]]:
    assert len({case.name for case, _ in gallery.cases}) == len(gallery.cases)
    return [
        (case, way, str(path))
        for number, (case, path) in enumerate(gallery.cases)
        for way in ways_of(gallery.part, number, case, path)
    ]


def with_memory(gallery: Gallery, requests: list[tuple[Case, str, str]]) -> list[tuple[Case, str, str]]:
    """The same, and for each lie what the checks of memory say."""
    lies = {case.name: (case, "memory", path) for case, _, path in requests if gallery.part == "lies" and not case.only}
    return [*requests, *lies.values()]


def test_a_sample_of_the_ways_in(gallery: Gallery, tmp_path: Path) -> None:
    assert_promises(judged(with_memory(gallery, requests_of(gallery)[::25]), gallery.goods, tmp_path))


@pytest.mark.slow
def test_every_way_in(gallery: Gallery, tmp_path: Path) -> None:
    assert_promises(judged(with_memory(gallery, requests_of(gallery)), gallery.goods, tmp_path))


@pytest.mark.slow
def test_beside_a_good_tokenizer_json(goods: list[str], tmp_path: Path) -> None:
    """`AutoTokenizer` gives the ids of the ``tokenizer.json``, and says why the cartridge is refused."""
    cases = [*PARTS["containers"](), *PARTS["version_2"]()][::45]
    requests = []
    for number, case in enumerate(case for case in cases if case.error == CARTRIDGE and not case.only):
        directory = tmp_path / f"{number}"
        directory.mkdir()
        path = directory / "tokenizer.dat"
        case.make(directory).rename(path)
        (directory / "tokenizer.json").write_bytes(text_source("llama_like"))
        (directory / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
        of_engine = "a version 2 (CRAYON) cartridge: it holds no merges, only greedy mode can use it"
        is_two = case.name.startswith("version 2")
        requests.append((case._replace(promise=of_engine, says="") if is_two else case, "auto", str(path)))
    assert len(requests) > 20
    verdicts = judged(requests, goods, tmp_path)
    assert {verdict.error for verdict in verdicts} == {"Refused"}
    # Of another file, by its digest, no more is looked at.
    others = [verdict for verdict in verdicts if verdict.message.startswith("it was compiled from another ")]
    assert len(others) < 6
    assert_promises([verdict for verdict in verdicts if verdict not in others])


def test_places_by_the_engine_itself(tmp_path: Path) -> None:
    """What looks for sources of other kinds refuses these before; the engine refuses them, too."""
    kinds = {"FIFO", "/dev/zero", "/dev/full", "/dev/null"}
    for case, path in make(tmp_path, places.cases()):
        if case.name.split()[0] in kinds or case.name.startswith("a FIFO"):
            with pytest.raises(CartridgeError, match="not a regular file"):
                _core.Engine.open(path, verify=True)
        if case.name.startswith("a directory"):
            with pytest.raises(IsADirectoryError):
                _core.Engine.open(path, verify=True)
        if case.name.startswith("a FIFO"):
            for mode in ("exact", "greedy"):
                with pytest.raises(VocabularyError, match="is not a file"):
                    Tokenizer.from_file(path, mode)
            with pytest.raises((OSError, VocabularyError), match=r"[Nn]ot a regular file|is not a file"):
                CrayonVocab(compat="xerv").load_profile(path)
