"""Which input files go together: the tasks of a job, each of which becomes one output name."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from crayon_hf.corpora.job.mixture import Source, mixed
from crayon_hf.text_readers.documents import InputFile

GROUP_BYTES = 64 << 20


class Task(NamedTuple):
    """Some files, in order."""

    name: str
    """Its number, ``00003``."""
    files: tuple[InputFile, ...]
    output: str
    """The prefix of what it writes, as `tokenize_shard` takes it."""

    @property
    def bytes(self) -> int:
        """Of the files, as stored."""
        return sum(max(file.size, 0) for file in self.files)


def plan(request: dict[str, Any], directory: str) -> list[Task]:
    """The tasks of a job, by what was asked for (`crayon_hf.corpora.job.job_spec`): files in order, whole, as many
    together as have no more than ``group_bytes``.

    With ``shuffle`` the files are first put in the order of ``numpy.random.default_rng(seed).permutation``. A file
    whose size nobody knows goes alone. With a ``mixture`` (values of `Source`) every task has files of all sources:
    `mixed`.
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
