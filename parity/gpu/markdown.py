"""report.md: the report for people, in tables that docs/gpu.md can take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crayon_hf.util.markdown import table

from .access import STAND_IN
from .made_texts import source_of
from .report import Report
from .speed import INPUTS

_CELL = str.maketrans({"|": "\\|", "\n": " "})
_OF_SPEED = (
    "Medians of one text again and again, so that what is kept between batches is there; the first batch, of a new "
    "encoder, has nothing."
)
_FEW = 8
"""Kernels and reasons that are shown."""


def to_markdown(report: Report) -> str:
    """The whole page."""
    data = report.data
    parts = [
        f"# parity.gpu: {data['verdict']}",
        *_head(data),
        _list("Reasons", data["reasons"]),
        _ids(report),
        _others(report),
        _speed(report),
        _kernels(report),
        _list("Not done", data["left_out"]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(data: dict[str, Any]) -> list[str]:
    machine, device = data["machine"], data.get("gpu", {})
    versions = ", ".join(f"{name} {value}" for name, value in device.get("versions", {}).items() if value)
    lines = [
        f"- `{data['command']}`, {data['started']}, {data['seconds']:.0f} s",
        f"- Device: {data['device']}"
        + (f", {device['name']}, {device['architecture']}, {device['memory'] / 2**30:.0f} GiB" if device else "")
        + (f"; {versions}" if versions else ""),
        f"- Machine: {machine.get('cpu', '')}, {machine.get('cores', '')} cores, {machine.get('system', '')}, "
        f"Python {machine.get('python', '')}, crayon-hf {machine.get('crayon_hf', '')}"
        + (f" ({machine['build']['commit']})" if machine.get("build", {}).get("commit") else ""),
    ]
    if data["device"] == STAND_IN:
        lines.append("- **The CPU ran the kernels: no figure here says anything of a GPU.**")
    return ["\n".join(lines)]


def _ids(report: Report) -> str:
    """One row for each kind of case."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for result in report.results("ids"):
        kinds.setdefault(result["name"].rpartition(": ")[0], []).append(result)
    rows = []
    for kind, results in kinds.items():
        done = [result for result in results if "bytes" in result]
        statuses = sorted({result["status"] for result in results})
        says = (
            "equal"
            if statuses == ["ok"]
            else ", ".join(
                f"{sum(result['status'] == status for result in results)} {'equal' if status == 'ok' else status}"
                for status in statuses
            )
        )
        texts, size = sum(each["texts"] for each in done), sum(each["bytes"] for each in done)
        slowest = max((each["device_seconds"] for each in done), default=0.0)
        rows.append((kind, len(results), f"{texts:,}", f"{size:,}", f"{slowest:.2f}", says))
    return _table("Ids", ("inputs", "cases", "texts", "bytes", "slowest case, s", "ids beside the CPU's"), rows)


def _others(report: Report) -> str:
    rows = [
        (step, result["name"], result["status"], result.get("says", ""))
        for step in ("environment", "repeats", "sanitizer")
        for result in report.results(step)
    ]
    return _table("Behaviour", ("step", "what", "result", ""), rows)


def _speed(report: Report) -> str:
    rows = []
    for result in sorted(
        (result for result in report.results("speed") if "cpu" in result),
        key=lambda result: (result["vocabulary"], result["text"], result["bytes"]),
    ):
        figures = [_rate(result.get(given, {})) for given in INPUTS]
        second = result.get("second_batch", {})
        rows.append(
            (
                *(result["vocabulary"], result["text"], _size(result["bytes"]), *figures),
                *(_rate(result.get("first", {})), _rate(result["cpu"])),
                *(_calls(second, "allocated"), second.get("waits", ""), _per_byte(result)),
            )
        )
    if not rows:
        return ""
    of_texts = "; ".join(f"{kind}: {source_of(kind)}" for kind in dict.fromkeys(row[1] for row in rows))
    heads = (
        *("vocabulary", "text", "bytes", *(f"{given}, GB/s" for given in INPUTS)),
        *("first batch, GB/s", "CPU, GB/s"),
        *("allocations of a second batch", "waits", "bytes held per byte"),
    )
    return _table("Speed", heads, rows, numbers=9) + f"\n\n{_OF_SPEED} Texts: {of_texts}, repeated where need be."


def _kernels(report: Report) -> str:
    """The kernels of the largest batch of each vocabulary and text."""
    largest: dict[tuple[str, str], dict[str, Any]] = {}
    for result in report.results("speed"):
        if result.get("kernels"):
            key = result["vocabulary"], result["text"]
            if key not in largest or result["bytes"] > largest[key]["bytes"]:
                largest[key] = result
    rows = []
    for (vocabulary, text), result in largest.items():
        first, total = (_seconds(result[name]) for name in ("first_kernels", "kernels"))
        slowest = sorted(result["kernels"].items(), key=lambda each: -each[1]["seconds"])[:_FEW]
        shown = ", ".join(f"{name} {_share(kernel['seconds'], total)}" for name, kernel in slowest)
        launches = sum(kernel["launches"] for kernel in result["kernels"].values())
        rows.append(
            (vocabulary, text, _size(result["bytes"]), f"{first * 1e3:.3f}", f"{total * 1e3:.3f}", launches, shown)
        )
    heads = ("vocabulary", "text", "bytes", "first batch, ms", "second batch, ms", "launches", "the slowest, of that")
    return _table("Kernels", heads, rows)


def _seconds(kernels: dict[str, Any]) -> float:
    return float(sum(kernel["seconds"] for kernel in kernels.values()))


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], numbers: int = 0) -> str:
    if not rows:
        return ""
    cells = ([str(cell).translate(_CELL) for cell in row] for row in rows)
    return f"## {title}\n\n{table(heads, cells, numbers)}"


def _list(title: str, lines: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines) if lines else ""


def _rate(figure: dict[str, Any]) -> str:
    return f"{figure['gb_per_s']:.3g}" if "gb_per_s" in figure else "no memory" if "failed" in figure else ""


def _calls(taken: dict[str, Any], name: str) -> str:
    return str(taken[name]["calls"]) if name in taken else ""


def _per_byte(result: dict[str, Any]) -> str:
    held = result.get("second_batch", {}).get("most_held")
    return f"{(held - result['vocabulary_bytes']) / result['bytes']:.1f}" if held else ""


def _share(part: float, total: float) -> str:
    return f"{100 * part / total:.0f}%" if total else "0%"


def _size(size: int) -> str:
    return f"{size / 1e6:.2f} M" if size >= 1e5 else f"{size:,}"
