"""Writes the text of docs/compatibility.md: its introduction and its table, with a row for each client."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from clients.measuring import NOISE, Outcome, Task

from crayon_hf.util.markdown import table

HEAD = """# Libraries that use tokenizers

`make clients` gives each of these libraries an environment of its own, runs a script of it twice, with the stock
tokenizers and with ours, and writes this page. Both runs have the same script and a process of their own. The
scripts are in `tools/clients/scripts/`.

- *how*: what puts ours in. `install()` is `crayon_hf.install()` before anything else is imported.
- *result*: "same" says that everything the script returns is equal: ids, texts, offsets, masks, logits, files. Tasks
  that fail with stock, too, are named.
- *times as fast*: processor time with stock divided by that with ours, of all threads, the median of three to six
  rounds in turn. A value within {noise} of 1 is "level", and so is one that is slower in some rounds and faster in
  others. It is the time of the whole call: model, batches, network objects and all. A call that spends its time
  elsewhere is level, however fast the tokenizer is. On a busy machine, as this one was, calls of some milliseconds and
  those of models vary by a third from one process to the next, either way.

{machine}
"""
HEADS = ("library", "version", "how", "result", "times as fast", "notes")


def verdict(outcome: Outcome) -> str:
    """Return "same" or the difference, in a word or a line."""
    if outcome.not_run:
        return "not run"
    different = [task.name for task in outcome.tasks if task.difference]
    if different:
        return f"**different**: {', '.join(different)}"
    if not outcome.used:
        return "**ours is not used**"
    failed = [task.name for task in outcome.tasks if task.failed]
    return f"same; stock fails too: {', '.join(failed)}" if failed else "same"


def speed(task: Task) -> str:
    """Return the speedup over stock, or "level"."""
    if abs(task.ratio - 1) <= NOISE or (task.ratio < 1 and not task.is_slower):
        return "level"
    text = f"{task.ratio:.2f}" if task.ratio < 1 else f"{task.ratio:.1f}" if task.ratio < 10 else f"{task.ratio:.0f}"
    return f"**{text}**" if task.ratio < 1 else text


def row(outcome: Outcome) -> list[str]:
    """Return the cells of a client's row."""
    speeds = "; ".join(f"{task.name} {speed(task)}" for task in outcome.tasks if task.ratio)
    notes = [outcome.note] if outcome.note else []
    if outcome.not_run:
        notes.append(outcome.not_run.splitlines()[-1][:200])
    unsteady = [task.name for task in outcome.tasks if task.unsteady]
    if unsteady:
        notes.append(f"changes from call to call, compared the first time: {', '.join(unsteady)}")
    if outcome.engines.get("delegated"):
        notes.append("a tokenizer of this row is delegated")
    cells = (outcome.name, outcome.version, outcome.how, verdict(outcome), speeds, "; ".join(notes))
    return [cell.replace("|", "\\|").replace("\n", " ") for cell in cells]


def page(outcomes: Sequence[Outcome], machine: str, missing: Sequence[str] = ()) -> str:
    """Return the whole page. `missing` names the scripts without a result."""
    head = HEAD.format(noise=NOISE, machine=machine)
    rows = map(row, sorted(outcomes, key=lambda it: it.name.lower()))
    end = f"\nScripts without a result yet: {', '.join(missing)}.\n" if missing else ""
    return f"{head}\n{table(HEADS, rows)}\n{end}"


def machine(versions: str) -> str:
    """Return the machine and the versions of the measurement."""
    from crayon_hf.parity.speed.machine import cpu_model

    return f"{cpu_model()}; Python {platform.python_version()}, {versions} where a client asks for no other."


def problems(outcome: Outcome) -> list[str]:
    """Return the faults of a row, each of which makes the command fail."""
    found = [f"{task.name}: {task.difference}" for task in outcome.tasks if task.difference]
    found += [f"{task.name}: {task.ratio:.2f} times as fast" for task in outcome.tasks if task.is_slower]
    found += [outcome.not_run] if outcome.not_run else [] if outcome.used else ["no tokenizer of ours was open"]
    return [f"{outcome.name}: {each}" for each in found]
