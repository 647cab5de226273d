"""A process whose cartridge is cut while it is mapped: ``python -m tests.cartridge.cut_child SCENARIO PLACE``.

PLACE is a directory with ``whole.dat`` and ``other.dat``, ``whole.json``, ``other.ids`` (JSON: what other.dat makes of
TEXT) and ``text`` (large). A scenario ends with exit status 0 if everything was as it must be, and imports little: each
is a process of its own, because the wrong thing to happen is its death.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import mmap
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from crayon_hf import _core
from crayon_hf.errors import CartridgeError

TEXT = "The quick brown fox; it's what they've said, isn't it? Größe, Быстрая лиса, 敏捷的棕色狐狸 crayon [L] x"
TELLS = "cut or overwritten while it was in use. Open it again; to replace a cartridge, rename the new file over it"
here = Path(sys.argv[2]) if len(sys.argv) > 2 else Path()
_copies = iter(range(1_000_000))


class Copy:
    """A cartridge file of its own, open, and what becomes of it."""

    def __init__(self, name: str = "whole.dat", verify: bool = False) -> None:
        self.path = here / f"copy{next(_copies)}.dat"
        shutil.copyfile(here / name, self.path)
        self.size = self.path.stat().st_size
        self.engine = _core.Engine.open(str(self.path), verify)

    def cut(self, size: int = 0) -> None:
        os.truncate(self.path, size)

    def must_fail(self, work: Callable[[], Any]) -> None:
        told = "no error"
        try:
            work()
        except CartridgeError as error:
            told = str(error)
        assert told == f"{self.path}: {TELLS}", told


def must_work(engine: _core.Engine | None = None) -> None:
    """Another cartridge is what it was."""
    engine = engine or _core.Engine.open(str(here / "other.dat"), True)
    want = json.loads((here / "other.ids").read_text())
    assert engine.encode_ids(TEXT) == want
    assert engine.encode_lists([TEXT] * 3, threads=2) == [want] * 3


def works() -> dict[str, Callable[[_core.Engine], Any]]:
    """Everything that reads the file. What a call needs of an engine before the cut is made by its first line."""
    data = TEXT.encode()
    many = [TEXT] * 40
    source = (here / "whole.json").read_bytes()
    found: dict[str, Callable[[_core.Engine], Any]] = {
        "encode": lambda e: e.encode(TEXT),
        "encode with truncation": lambda e: e.encode(TEXT, truncation=(4, 0, "longest_first", "right")),
        "encode a pair": lambda e: e.encode(TEXT, TEXT),
        "encode_batch": lambda e: e.encode_batch(many, threads=2),
        "encode_batch without offsets": lambda e: e.encode_batch(many, offsets=False, threads=2),
        "encode_columns": lambda e: e.encode_columns(many, threads=2),
        "encode_ids": lambda e: e.encode_ids(TEXT),
        "encode_ids of bytes": lambda e: e.encode_ids(data),
        "encode_lists": lambda e: e.encode_lists(many, threads=2),
        "encode_bytes": lambda e: e.encode_bytes(data),
        "merge_pretoken": lambda e: e.merge_pretoken(b"internationalization", _core.Engine.MergeWay.usual),
        "cuts": lambda e: e.cuts(data),
        "encode_ragged": lambda e: e.encode_ragged(many, threads=1),
        "encode_ragged in threads": lambda e: e.encode_ragged(many * 40, threads=3),
        "encode_spans": lambda e: e.encode_spans(data, [0, 5], [5, len(data)]),
        "count_tokens": lambda e: e.count_tokens(many, threads=2),
        "a large text": lambda e: e.encode_lists(["".join(many * 200)], threads=2),
        "decode": lambda e: e.decode([5, 6, 300]),
        "decode many": lambda e: e.decode([5, 6, 300] * 3000),
        "decode_strings": lambda e: e.decode_strings([5, 6, 300]),
        "decode_bytes": lambda e: e.decode_bytes([5, 6, 300]),
        "decode_batch": lambda e: e.decode_batch([[5, 6, 300]] * 30, threads=2),
        "token_to_id": lambda e: e.token_to_id("the"),
        "id_to_token": lambda e: e.id_to_token(300),
        "id_to_bytes": lambda e: e.id_to_bytes(300),
        "get_vocab": lambda e: e.get_vocab(),
        "added_tokens": lambda e: e.added_tokens(),
        "with_components": lambda e: e.with_components(e.components),
        "greedy": lambda e: e.greedy(),
        "longest_match": lambda e: e.longest_match(data),
        "mismatch": lambda e: e.mismatch(source),
        "trace_segments": lambda e: e.trace_segments(TEXT),
        "trace_raw_segments": lambda e: e.trace_raw_segments(data),
        "trace_piece": lambda e: e.trace_piece(b"fox"),
        "trace_longest_match": lambda e: e.trace_longest_match(b"fox"),
        "a stream": lambda e: _core.StreamEncoder(e).encode(data, 0, len(data), True),
        "words": lambda e: _core.WordCounter(e, 2).add(many),
        "words of lines": lambda e: _core.WordCounter(e, 2).add_lines(data),
    }
    return found


def before_each_call() -> None:
    """Each call fails, and again; other engines go on, also in the thread that was thrown out of its work."""
    other = _core.Engine.open(str(here / "other.dat"))
    intact = Copy()
    for name, work in works().items():
        work(intact.engine)  # or the list above is wrong
        copy = Copy()
        # Without the page of the header; with it, but not all others; with some of a page.
        copy.cut({0: 0, 1: copy.size // 2 & ~0xFFFF, 2: copy.size // 2 - 1001}[len(name) % 3])
        for _ in range(2):
            copy.must_fail(lambda copy=copy, work=work: work(copy.engine))  # type: ignore[misc]
        del copy
    must_work(other)
    must_work()


def what_was_begun() -> None:
    """Objects that an engine had made before the cut."""
    copy = Copy()
    encoding, greedy, stream = copy.engine.encode(TEXT), copy.engine.greedy(), _core.StreamEncoder(copy.engine)
    counter = _core.WordCounter(copy.engine, 2)
    ids = encoding.ids
    counter.add([TEXT])
    counted = counter.words()
    consumed, _, _ = stream.encode(TEXT.encode(), 0, len(TEXT.encode()), False)
    copy.cut(copy.size // 2)
    data = TEXT.encode()
    copy.must_fail(lambda: encoding.tokens)
    copy.must_fail(lambda: encoding.tokens)
    copy.must_fail(lambda: greedy.encode_ids(TEXT))
    copy.must_fail(lambda: greedy.with_components(greedy.components))
    copy.must_fail(lambda: stream.encode(data, consumed, len(data), True))
    copy.must_fail(lambda: counter.add([TEXT]))
    assert encoding.ids == ids
    assert counter.words() == counted
    copy.must_fail(copy.engine.info)
    assert copy.engine.get_vocab_size() == Copy().engine.get_vocab_size()  # what does not read it
    assert json.loads(copy.engine.components)
    assert copy.engine.metadata
    must_work()


def at_every_size() -> None:
    """Any cut that takes something away is noticed; what takes zeros from the end changes nothing."""
    data = (here / "whole.dat").read_bytes()
    last = len(data.rstrip(b"\0"))  # one after the last byte that is not zero
    want = Copy().engine.encode_ids(TEXT)
    for size in (0, 1, 24, 25, 63, 64, 4095, 4096, 4097, len(data) // 2, len(data) - 70_000, last - 9, last - 1):
        copy = Copy()
        copy.cut(size)
        copy.must_fail(lambda copy=copy: copy.engine.encode_ids(TEXT))  # type: ignore[misc]
        copy.must_fail(lambda copy=copy: copy.engine.decode([5, 300]))  # type: ignore[misc]
    if last < len(data):
        copy = Copy()
        copy.cut(last)
        assert copy.engine.encode_ids(TEXT) == want


def overwritten() -> None:
    """Another cartridge written over it, as ``cp`` does, and the same one, which changes nothing."""
    copy = Copy()
    shutil.copyfile(here / "other.dat", copy.path)
    copy.must_fail(lambda: copy.engine.encode_ids(TEXT))
    shutil.copyfile(here / "whole.dat", copy.path)
    copy.must_fail(lambda: copy.engine.encode_ids(TEXT))
    _core.Engine.open(str(copy.path), True)
    copy = Copy()
    want = copy.engine.encode_ids(TEXT)
    shutil.copyfile(here / "whole.dat", copy.path)
    assert copy.engine.encode_ids(TEXT) == want


def in_batches() -> None:
    """Cut in the middle of work in many threads: each of them ends with the error."""
    text = (here / "text").read_text()
    texts = [text[at : at + 700] for at in range(0, len(text), 700)]
    other = _core.Engine.open(str(here / "other.dat"))
    ways: list[Callable[[_core.Engine], Any]] = [
        lambda e: e.encode_ragged(texts, threads=3),
        lambda e: e.encode_batch(texts[:300], threads=2),
        lambda e: e.encode_lists([text], threads=3),
        lambda e: e.decode_batch([[5, 300, 301, 302] * 200] * 200, threads=3),
        lambda e: [e.encode_ids(each) for each in texts[:300]],
        lambda e: _core.WordCounter(e, 2).add(texts),
        lambda e: e.get_vocab(),
    ]
    for turn in range(3):
        copy = Copy()
        begun = [threading.Event() for _ in ways]
        ends: list[str] = []

        def go_on(i: int, copy: Copy, begun: list[threading.Event], ends: list[str]) -> None:
            try:
                while True:
                    ways[i](copy.engine)
                    begun[i].set()
            except CartridgeError as error:
                ends.append(str(error))
            begun[i].set()

        threads = [threading.Thread(target=go_on, args=(i, copy, begun, ends)) for i in range(len(ways))]
        for thread in threads:
            thread.start()
        for event in begun:
            event.wait()
        copy.cut((0, copy.size // 3, copy.size // 3 & ~0xFFF)[turn])
        for thread in threads:
            thread.join()
        assert ends == [f"{copy.path}: {TELLS}"] * len(ways), ends
        must_work(other)


def in_a_progress_report() -> None:
    """Python that the engine calls in the middle of its work cuts the file, and meets the error there itself."""
    text = (here / "text").read_text()
    for size in (0, 100_000, 50_001):
        reports = 0
        copy = Copy()
        counter = _core.WordCounter(copy.engine, 1)

        def report(stage: str, done: int, total: int, copy: Copy = copy, size: int = size) -> None:
            nonlocal reports
            reports += 1
            copy.cut(size)
            copy.must_fail(lambda: copy.engine.encode_ids(TEXT))

        time.sleep(0.11)  # reports are that far apart
        copy.must_fail(lambda counter=counter: counter.add([text, text], report))  # type: ignore[misc]
        assert reports
        assert counter.words() == []
    must_work()


def while_it_opens() -> None:
    """Opening gives an engine or the error, whenever the file is cut."""
    outcomes = set()
    for turn in range(40):
        path = here / f"opening{turn}.dat"
        shutil.copyfile(here / "whole.dat", path)
        cutter = threading.Thread(target=lambda p=path, t=turn: (time.sleep(t * 2e-4), os.truncate(p, 5000 * t)))  # type: ignore[misc]
        cutter.start()
        try:
            _core.Engine.open(str(path), True)
            outcomes.add("open")
        except CartridgeError as error:
            outcomes.add("error" if str(error).startswith(f"{path}: ") else str(error))
        cutter.join()
    assert outcomes <= {"open", "error"}, outcomes
    assert "error" in outcomes
    must_work()


def of_a_fork() -> None:
    """A child has the guards of its parent, and a cut hits both."""
    copy = Copy()
    pid = os.fork()
    if pid == 0:
        copy.cut(4096)
        copy.must_fail(lambda: copy.engine.encode_batch([TEXT] * 9, threads=2))
        must_work()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    copy.must_fail(lambda: copy.engine.encode_ids(TEXT))
    must_work()


def faulthandler_before() -> None:
    faulthandler.enable()
    before_each_call()


def faulthandler_after() -> None:
    """It reports the fault, once, and puts our handler back."""
    copy, second = Copy(), Copy()
    faulthandler.enable()
    copy.cut()
    copy.must_fail(lambda: copy.engine.encode_ids(TEXT))
    second.cut()
    second.must_fail(lambda: second.engine.encode_ids(TEXT))
    must_work()


def faulthandler_gone() -> None:
    """Disabling it puts back what was there before us; the next cartridge that is opened makes it good."""
    faulthandler.enable()
    copy = Copy()
    faulthandler.disable()
    other = Copy()
    copy.cut()
    copy.must_fail(lambda: copy.engine.encode_ids(TEXT))
    must_work(_core.Engine.open(str(here / "other.dat")))
    del other


@contextlib.contextmanager
def foreign() -> Iterator[mmap.mmap]:
    """A map of somebody else's file, which was cut."""
    path = here / "foreign"
    path.write_bytes(b"x" * 100_000)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages:
        os.truncate(path, 0)
        yield pages


def foreign_fault() -> None:
    """Dies of SIGBUS."""
    engine = Copy().engine
    with foreign() as pages:
        print("alive", flush=True)
        engine.encode_spans(pages, [50_000], [60_000])


def foreign_fault_reported() -> None:
    """The same, with a report before it, although our handler was installed on both sides of faulthandler."""
    kept = [Copy()]
    faulthandler.enable()
    kept.append(Copy())
    foreign_fault()


def sent() -> None:
    """Dies of SIGBUS, which nobody's fault was."""
    copy = Copy()
    print("alive", flush=True)
    os.kill(os.getpid(), signal.SIGBUS)
    time.sleep(5)
    del copy


def sent_and_handled() -> None:
    got = []
    signal.signal(signal.SIGBUS, lambda number, frame: got.append(number))
    copy = Copy()
    os.kill(os.getpid(), signal.SIGBUS)
    time.sleep(0.01)
    assert got == [signal.SIGBUS]
    copy.cut()
    copy.must_fail(lambda: copy.engine.encode_ids(TEXT))


def sent_and_ignored() -> None:
    signal.signal(signal.SIGBUS, signal.SIG_IGN)
    copy = Copy()
    os.kill(os.getpid(), signal.SIGBUS)
    copy.cut()
    copy.must_fail(lambda: copy.engine.encode_ids(TEXT))


class Action(ctypes.Structure):
    """``struct sigaction``, as glibc has it on x86-64 and AArch64."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


def install_chained() -> list[Any]:
    """A handler that hands each signal on to what it found, as those of other libraries do.

    Returns what must be kept, and last a list with the number of calls.
    """
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    sigaction = ctypes.CDLL(None, use_errno=True).sigaction
    found = Action()
    assert sigaction(signal.SIGBUS, None, ctypes.byref(found)) == 0
    state: list[Any] = [0]

    def hand_on(number: int, info: int, context: int) -> None:
        state[0] += 1
        kind(found.handler)(number, info, context)

    entry = kind(hand_on)
    ours = Action(ctypes.cast(entry, ctypes.c_void_p), flags=4)  # SA_SIGINFO
    assert sigaction(signal.SIGBUS, ctypes.byref(ours), None) == 0
    return [entry, state]


def sent_and_handed_back() -> None:
    """Our handler lies on both sides of one that hands everything on: each is asked once, then who was there first."""
    signal.signal(signal.SIGBUS, signal.SIG_IGN)
    copy = Copy()
    *parts, state = install_chained()
    other = Copy()
    for times in (1, 2):
        os.kill(os.getpid(), signal.SIGBUS)
        assert state == [times]
    other.cut()
    other.must_fail(lambda: other.engine.encode_ids(TEXT))
    del copy, parts


def foreign_fault_handed_back() -> None:
    """The same; nobody was there first, so it dies of SIGBUS."""
    kept = [Copy(), install_chained(), Copy()]
    foreign_fault()
    del kept


if __name__ == "__main__":
    globals()[sys.argv[1]]()
