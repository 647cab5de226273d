"""Plan a job: group the input files into tasks, each of which writes one output name."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from crayon_hf.corpora.job.mixture import Source, mixed
from crayon_hf.text_readers.documents import InputFile

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
    """The tasks of a request (`crayon_hf.corpora.job.job_spec`): whole files in order, up to ``group_bytes`` a task.

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
