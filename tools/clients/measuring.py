"""Measures a client's script with stock and with ours, in two processes that take turns."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from clients.client import Client
from clients.comparison import first_difference
from own_tests import put_rank_files

from crayon_hf.parity.compare.children import Child, ChildError

__all__ = ["Outcome", "Task", "measure"]

MOST_SECONDS = 40
"""No further round begins after this time."""
NOISE = 0.05
"""A speedup this close to 1 is called level."""


@dataclass
class Task:
    """The measured results of one task of a script."""

    name: str
    difference: str | None = None
    failed: str | None = None
    """The exception that both sides raise."""
    unsteady: bool = False
    """Whether the result changes between calls in one process: then only the first results are compared."""
    ratio: float = 0.0
    """Speedup over stock: the median of the rounds' ratios."""
    spread: tuple[float, float] = (0.0, 0.0)
    """The lowest and the highest ratio."""

    @property
    def is_slower(self) -> bool:
        """Whether ours is slower by more than noise: in the median, and not faster in any round."""
        return 0 < self.ratio < 1 - NOISE and self.spread[1] < 1 + NOISE


@dataclass
class Outcome:
    """A client's results: a row of docs/compatibility.md."""

    name: str
    how: str
    note: str
    version: str = ""
    not_run: str = ""
    engines: dict[str, int] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write the outcome to a file, so that a later run of other clients can write the whole page."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Outcome:
        """Read an outcome that `save` wrote."""
        said = json.loads(path.read_text(encoding="utf-8"))
        return cls(**said | {"tasks": [Task(**task) for task in said["tasks"]]})

    @property
    def used(self) -> bool:
        """Whether a tokenizer of ours was open in the process."""
        return sum(self.engines.values()) > 0


def _environ(client: Client, cache: Path, work: Path) -> dict[str, str]:
    return {
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(work / "hub"),
        "XDG_CACHE_HOME": str(cache / "ours"),
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "true",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": "",
        "TIKTOKEN_CACHE_DIR": _rank_files(cache),
        **client.environ,
    }


def measure(client: Client, script: str, python: Path, cache: Path, rounds: int | None = None) -> Outcome:
    """Run the script with stock and with ours, compare the results, and time both in turns."""
    (cache / "logs").mkdir(exist_ok=True)
    outcome = Outcome(client.name, client.put_in, client.note)
    count = client.rounds if rounds is None else rounds
    try:
        with _pair(client, script, python, cache) as (stock, ours, work):
            outcome.version, said = stock.hear()["version"], ours.hear()
            outcome.engines = said["engines"]
            theirs, mine = (
                json.loads((work / side / f"{side}.json").read_text(encoding="utf-8")) for side in ("stock", "ours")
            )
            outcome.tasks = [_compared(name, theirs, mine, str(work)) for name in {**theirs, **mine}]
            timed = [task for task in outcome.tasks if not (task.failed or task.difference)]
            _sum_up(timed, _time(timed, stock, ours, count))
    except ChildError as error:
        outcome.not_run = str(error)
    return outcome


@contextmanager
def _pair(client: Client, script: str, python: Path, cache: Path) -> Iterator[tuple[Child, Child, Path]]:
    """Start a process with stock and one with ours. Yields both processes, and the directory that has their working
    directories."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        children = []
        for side in ("stock", "ours"):
            work = Path(place) / side
            work.mkdir()
            log = stack.enter_context((cache / "logs" / f"{script}.{side}.txt").open("w+b"))
            command = [str(python), "-m", "clients.child", script, side, str(cache)]
            children.append(stack.enter_context(Child(command, _environ(client, cache, work), log, work)))
        try:
            yield children[0], children[1], Path(place)
        finally:
            for child in children:
                child.send(b"", is_all=True)  # the process ends itself, and its own processes
                with suppress(subprocess.TimeoutExpired):
                    child.process.wait(10)


def _compared(name: str, stock: dict[str, Any], ours: dict[str, Any], work: str) -> Task:
    if name not in stock or name not in ours:
        return Task(name, f"only {'stock' if name in stock else 'ours'} has it")
    both = [_same_paths(stock[name], f"{work}/stock"), _same_paths(ours[name], f"{work}/ours")]
    difference = first_difference(*both)
    raised = [each["raised"] if isinstance(each, dict) and list(each) == ["raised"] else None for each in both]
    return Task(name, difference, None if difference else raised[0])


def _same_paths(value: Any, directory: str) -> Any:
    """Replace the working directory in a result with a dot, because the two processes have different ones."""
    text = json.dumps(value)
    return json.loads(text.replace(directory, ".")) if directory in text else value


def _time(tasks: list[Task], stock: Child, ours: Child, rounds: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return, for each round, the answers of the process with stock and of the one with ours."""
    names = [task.name for task in tasks]
    begin = time.monotonic()
    seen: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for number in range(rounds):
        if number >= 2 and time.monotonic() - begin > MOST_SECONDS:
            break
        first, second = (stock, ours) if number % 2 == 0 else (ours, stock)
        both = first.ask(names), second.ask(names)
        seen.append(both if number % 2 == 0 else (both[1], both[0]))
    return seen


def _sum_up(tasks: list[Task], seen: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """Store the tasks' speedups. `seen` has both processes' answers in each round."""
    for task in tasks if seen else ():
        pairs = [(theirs["times"][task.name], mine["times"][task.name]) for theirs, mine in seen]
        task.unsteady = any(task.name in each["unsteady"] for both in seen for each in both)
        ratios = [theirs / max(mine, 1e-9) for theirs, mine in pairs]
        task.ratio, task.spread = statistics.median(ratios), (min(ratios), max(ratios))


def _rank_files(cache: Path) -> str:
    """Return a tiktoken cache with the rank files of CRAYON_SHARED."""
    directory = cache / "rank-files"
    directory.mkdir(exist_ok=True)
    put_rank_files(directory)
    return str(directory)
