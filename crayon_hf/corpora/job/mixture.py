"""Mix sources: how often each is read, in which order, and which of its files go into which task.

The terms are those of MosaicML's streams. Each source has a `repeat`, the number of times it is read, such as 0.5 or
2.5. Or each has a `proportion`, its share of the bytes read. The bytes read are as many as all sources have in total.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from crayon_hf.errors import CorpusError
from crayon_hf.text_readers.documents import InputFile
from crayon_hf.util import validation

_MOST = 1000.0
"""The largest `repeat`."""


class Source(NamedTuple):
    """A source of a mixture. In the list of all input files, its `files` follow those of the sources before it."""

    name: str
    files: int
    repeat: float


def read_mixture(path: str) -> dict[str, Any]:
    """Read a mixture from a JSON file. Raises ValueError if the file has none."""
    try:
        with open(path, "rb") as file:
            mixture = json.loads(file.read())
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else f"it is not JSON ({error})"
        raise ValueError(f"{path}: {why}: expected the mixture as JSON") from None
    if not isinstance(mixture, dict):
        raise ValueError(f"{path}: expected an object that has an object for each source")
    return mixture


def sources_of(
    mixture: Mapping[str, Any], find: Callable[[list[Any]], list[InputFile]]
) -> tuple[list[InputFile], tuple[Source, ...]]:
    """Return the files of all sources, each file once, and the sources. `find` returns the files of a source's inputs.

    Raises:
        ValueError: `mixture` is not valid.
        CorpusError: The size of a file is not known.
    """
    if not mixture:
        raise ValueError("the mixture is empty: expected at least one source")
    weighed = [name for name, source in mixture.items() if _checked(name, source).get("proportion") is not None]
    if weighed and len(weighed) < len(mixture):
        other = next(name for name in mixture if name not in weighed)
        raise ValueError(f"mixture: {weighed[0]!r} has a proportion and {other!r} has none: give one to all sources")
    found = {name: find(_listed(source["inputs"])) for name, source in mixture.items()}
    for name, files in found.items():
        for file in files:
            if file.size < 0:
                raise CorpusError(f"{file.address} of source {name!r} has no known size: copy it to this machine first")
    sizes = {name: sum(file.size for file in files) for name, files in found.items()}
    total, weights = sum(sizes.values()), sum(mixture[name]["proportion"] for name in weighed)
    sources = []
    for name, source in mixture.items():
        repeat = float(source.get("repeat", 1.0))
        if weighed and sizes[name]:
            repeat = source["proportion"] / weights * total / sizes[name]
            if repeat > _MOST:
                raise ValueError(
                    f"mixture: {name!r} would be read {repeat:,.0f} times to have its proportion: expected at most "
                    f"{_MOST:,.0f}"
                )
        sources.append(Source(name, len(found[name]), repeat))
    return [file for files in found.values() for file in files], tuple(sources)


def mixed(files: Sequence[InputFile], sources: Sequence[Source], group_bytes: int, seed: int) -> list[list[InputFile]]:
    """Deal the files to tasks of about `group_bytes`, each with the same mix of sources as far as whole files allow.

    Each pass over a source has its own order of files, by ``numpy.random.default_rng((seed, source, pass))``. If the
    last pass is partial, it takes its share of the documents of every file.
    """
    dealt: list[tuple[float, InputFile]] = []
    total, first = 0.0, 0
    for number, source in enumerate(sources):
        mine = files[first : first + source.files]
        first += source.files
        units = []
        for time in range(math.ceil(source.repeat)):
            share = min(1.0, source.repeat - time)
            order = np.random.default_rng((seed, number, time)).permutation(len(mine))
            units += [mine[i]._replace(share=share) for i in order]
        of_source, done = sum(file.size * file.share for file in units), 0.0
        for place, file in enumerate(units):
            middle = (done + file.size * file.share / 2) / of_source if of_source else (place + 0.5) / len(units)
            dealt.append((middle, file))
            done += file.size * file.share
        total += of_source
    count = max(1, min(len(dealt), round(total / group_bytes)))
    tasks: list[list[InputFile]] = [[] for _ in range(count)]
    for middle, file in dealt:
        tasks[min(int(middle * count), count - 1)].append(file)
    return [task for task in tasks if task]


def _checked(name: str, source: Any) -> Mapping[str, Any]:
    where = f"mixture: {name!r}"
    if not isinstance(source, Mapping):
        raise ValueError(f"{where} is {validation.kind(source)}, expected an object with inputs")
    unknown = source.keys() - {"inputs", "repeat", "proportion"}
    if unknown or "inputs" not in source:
        what = f"has {min(map(str, unknown))!r}" if unknown else "has no inputs"
        raise ValueError(f"{where} {what}: expected inputs, and repeat or proportion")
    inputs = _listed(source["inputs"])
    if not inputs or not all(isinstance(each, (str, os.PathLike)) for each in inputs):
        raise ValueError(f"{where}: inputs are {source['inputs']!r}, expected a path, or a list of paths")
    if "repeat" in source and "proportion" in source:
        raise ValueError(f"{where} has a repeat and a proportion: give one of them")
    for key, most in (("repeat", _MOST), ("proportion", 1e300)):
        value = source.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= most:
            raise ValueError(f"{where}: {key} is {value!r}, expected a number from above 0 to {most:,.15g}")
    return source


def _listed(inputs: Any) -> list[Any]:
    return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
