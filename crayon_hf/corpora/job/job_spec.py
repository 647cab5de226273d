"""The request of a job: its tasks, and whether a new request may resume an earlier one."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from crayon_hf.corpora.job.encoder import JobTokenizer
from crayon_hf.corpora.job.mixture import Source, mixed
from crayon_hf.corpora.job.options import Options
from crayon_hf.errors import JobError
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.util.wording import plural

GROUP_BYTES = 64 << 20


class Task(NamedTuple):
    """Some input files, in order, and their output."""

    name: str
    """The number of the task, such as ``00003``."""
    files: tuple[InputFile, ...]
    output: str
    """The prefix of its token files, as for `tokenize_shard`."""

    @property
    def bytes(self) -> int:
        """Stored bytes of the files."""
        return sum(max(file.size, 0) for file in self.files)


def plan(request: dict[str, Any], directory: str) -> list[Task]:
    """The tasks of a request (see `request_of`): whole files in order, up to ``group_bytes`` bytes a task.

    A file of unknown size has a task of its own. ``shuffle`` first puts the files in the order of
    ``numpy.random.default_rng(seed).permutation``. With a ``mixture`` (values of `Source`) every task has files of all
    sources, see `mixed`.
    """
    files = [InputFile(*file) for file in request["inputs"]]
    group_bytes, seed, mixture = request["group_bytes"], request["seed"], request.get("mixture")
    groups: list[list[InputFile]] = []
    room = -1
    if mixture is not None:
        groups = mixed(files, [Source(*source) for source in mixture], group_bytes, seed)
        files = []
    elif request["shuffle"]:
        files = [files[i] for i in np.random.default_rng(seed).permutation(len(files))]
    for file in files:
        if 0 <= file.size <= room:
            groups[-1].append(file)
        else:
            groups.append([file])
            room = group_bytes if file.size >= 0 else -1
        room -= file.size
    names = [f"{number:05d}" for number in range(len(groups))]
    return [Task(name, tuple(group), os.path.join(directory, name)) for name, group in zip(names, groups, strict=True)]


def gone(path: str) -> JobError:
    """The error for a job's missing file, which only another process can have removed."""
    return JobError(f"{path} is gone: another process has done the job, or begun anew")


def request_of(files: Sequence[InputFile], options: Options, tokenizer: JobTokenizer) -> dict[str, Any]:
    """The request as JSON values: all that the bytes of the output depend on."""
    return {
        **options._asdict(),
        "mixture": None if options.mixture is None else [list(source) for source in options.mixture],
        "inputs": [list(file) for file in files],
        "tokenizer": {"name": tokenizer.name, "digest": tokenizer.digest},
    }


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The reasons why the second request cannot resume the first, a line each.

    Other spellings of paths are accepted, and of the tokenizer's name except for datatrove, which stores the name.
    After "stop", finished tasks have no bad records, so another `bad_records` or a larger `max_document_bytes` is
    accepted.
    """
    lines = []
    for key in sorted(before.keys() | now.keys()):
        was, is_now = before.get(key), now.get(key)
        if was == is_now:
            continue
        if key == "inputs":
            lines += changed_inputs(was or [], is_now or [])
        elif key == "tokenizer" and before.get("format") != "datatrove" and was and is_now:
            if was.get("digest") != is_now.get("digest"):
                names = [_said(each.get("name")) for each in (was, is_now)]
                same = f"the tokenizer {names[0]} has changed"
                lines.append(same if names[0] == names[1] else f"the tokenizer was {names[0]}, is {names[1]}")
        elif (key == "bad_records" and was == "stop") or (
            key == "max_document_bytes" and before.get("bad_records") == "stop" and (was or 0) < (is_now or 0)
        ):
            continue
        else:
            lines.append(f"{key} was {_said(was)}, is {_said(is_now)}")
    return lines


def continued(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The second request with the first one's spelling of names, so that a resumed job writes the same bytes.

    If their inputs have different addresses, the second request itself.
    """
    if not are_same_files(before["inputs"], now["inputs"]):
        return now
    inputs = [[was[0], *is_now[1:]] for was, is_now in zip(before["inputs"], now["inputs"], strict=True)]
    tokenizer = now["tokenizer"]
    if before["format"] != "datatrove":
        tokenizer = {**tokenizer, "name": before["tokenizer"]["name"]}
    return {**now, "inputs": inputs, "tokenizer": tokenizer}


def refuse(where: str, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise JobError if the second request cannot resume the first."""
    if lines := differences(before, now):
        more = f" (and {len(lines) - 5} more)" if len(lines) > 5 else ""
        raise JobError(
            f"{where} belongs to another job: {'; '.join(lines[:5])}{more}: give the same command, another output, or "
            "--overwrite (overwrite=True)"
        )


def are_same_files(was: Sequence[Any], is_now: Sequence[Any]) -> bool:
    """Whether two lists of inputs have the same addresses in the same order."""
    return [_place(file[0]) for file in was] == [_place(file[0]) for file in is_now]


def changed_inputs(was: Sequence[Any], is_now: Sequence[Any]) -> list[str]:
    """The differences between two lists of inputs, a line each."""
    before, now = ({_place(file[0]): file for file in files} for files in (was, is_now))
    lines = [f"{before[name][0]} is no longer among the inputs" for name in before if name not in now]
    lines += [f"{now[name][0]} is new among the inputs" for name in now if name not in before]
    for name in before:
        if name in now and before[name][1:] != now[name][1:]:
            old, new = before[name][1], now[name][1]
            sizes = f"{plural(old, 'byte')} then, {new:,} now" if old != new else "same size"
            lines.append(f"{before[name][0]} has changed ({sizes})")
    return lines or ([] if are_same_files(was, is_now) else ["the order of the inputs has changed"])


def _place(address: str) -> str:
    return address if "://" in address or "::" in address else os.path.abspath(address)


def _said(value: Any) -> str:
    """A setting in words."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "not given" if value is None else json.dumps(value, ensure_ascii=False)
