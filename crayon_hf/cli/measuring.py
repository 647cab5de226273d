"""The commands that measure crayon-hf beside others: ``bench``, and ``parity --greedy``."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from crayon_hf.cli.arguments import add_command, add_tokenizer
from crayon_hf.cli.output import print_line
from crayon_hf.cli.tokenizers import local_name, open_named
from crayon_hf.errors import CrayonError, ProfileNotFoundError
from crayon_hf.loading.resolve import is_path
from crayon_hf.parity.bench.options import add_options
from crayon_hf.tokenizer import Tokenizer
from crayon_hf.util.files import write_atomic
from crayon_hf.util.progress import Line

BESIDE = ("tokenizers", "llama.cpp")
"""Whose speed ``parity --greedy`` can measure beside ours."""


def add_bench(subparsers: Any) -> None:
    """What ``bench`` takes."""
    command = add_command(
        subparsers,
        "bench",
        bench,
        "measure speed and memory here",
        "Measures speed and memory beside the engines that are installed, after a check of their ids.\n\n"
        "Without a text it takes the shared corpus if CRAYON_SHARED names one, else the sources of Python's library.",
        (
            ("crayon-hf bench --quick", "rough figures in minutes"),
            ("crayon-hf bench book.txt --scenario first --rounds 1", "one text, one scenario"),
        ),
    )
    command.add_argument("text", nargs="*", metavar="FILE", help="a UTF-8 text (.xz is unpacked)")
    add_tokenizer(command)
    add_options(command)


def bench(arguments: argparse.Namespace) -> int:
    """Speed and memory beside other engines."""
    from crayon_hf.parity.bench.command import from_options, write
    from crayon_hf.parity.bench.measuring import BenchError
    from crayon_hf.parity.harness.references import find

    line = Line()

    def progress(message: str) -> None:
        if line.is_live:
            line.write(message)

    with TemporaryDirectory(prefix="crayon-bench-") as directory:
        vocabulary = find(_comparable(local_name(arguments.tokenizer), directory))
        texts, _ = _texts(arguments, directory)
        try:
            measured = from_options(arguments, [vocabulary], texts, progress)
        except BenchError as error:
            raise CrayonError(str(error)) from error
        finally:
            line.clear()
    write(measured, arguments, print_line)
    if not measured.same_ids:
        raise CrayonError(f"the ids differ from those of {measured.reports[0].reference}; nothing was timed")
    return 0


def parity_of_greedy(arguments: argparse.Namespace) -> int:
    """How often longest match gives the exact ids, and how fast."""
    with TemporaryDirectory(prefix="crayon-parity-") as directory:
        return _greedy(arguments, directory)


def _greedy(arguments: argparse.Namespace, directory: str) -> int:
    from crayon_hf.parity import greedy
    from crayon_hf.parity.bench.machine import machine_lines
    from crayon_hf.parity.inputs.texts import find_text, read_text

    texts, limit = _texts(arguments, directory)
    exact, other = (open_named(arguments.target, mode) for mode in ("exact", "greedy"))
    contestants = {"greedy": greedy.ours(other), "exact": greedy.ours(exact)}
    for name in filter(None, arguments.beside.split(",")):
        if name not in BESIDE:
            raise CrayonError(f"--beside {name}: expected one of {', '.join(BESIDE)}")
        contestants[name] = greedy.reference(exact) if name == "tokenizers" else greedy.llama_cpp(arguments.target)
    results = []
    for spec in texts:
        path = find_text(spec)
        text = read_text(path, limit).decode()
        if not text:
            raise CrayonError(f"{path} is empty: there is nothing to compare")
        results.append(greedy.agreement(exact, other, text, path.name.split(".")[0]))
        rounds = greedy.ROUNDS if arguments.rounds is None else arguments.rounds
        if rounds:
            results[-1].speeds = greedy.measure(contestants, text, rounds)
    plain = json.dumps({"machine": machine_lines({}), "texts": [result.to_json() for result in results]})
    if arguments.json == "-":
        print_line(plain)
    else:
        if arguments.json:
            write_atomic(arguments.json, plain.encode() + b"\n")
        print_line("\n".join([*machine_lines({})[:2], "", greedy.table(results)]))
    return 0


def _comparable(name: str, directory: str) -> str:
    """The file that the references open, too: of what is no tokenizer.json and no rank file, a tokenizer.json."""
    if os.path.isfile(name):
        from crayon_hf.conversion.recognise import Kind, recognise

        if recognise(name) in (Kind.TOKENIZER_JSON, Kind.TIKTOKEN):
            return name
    try:
        tokenizer = Tokenizer.from_file(name) if is_path(name) else Tokenizer.from_profile(name)
    except ProfileNotFoundError:
        return name
    path = os.path.join(directory, f"{Path(name).stem}.json")
    tokenizer.save(path)
    return path


def _texts(arguments: argparse.Namespace, directory: str) -> tuple[list[str], int | None]:
    """The texts to measure on, and at most how many bytes of each."""
    from crayon_hf.parity.inputs.texts import CORPUS, find_text

    for text in arguments.text:
        find_text(text)
    limit = None if arguments.megabytes is None else int(arguments.megabytes * 1e6)
    if arguments.text or os.environ.get("CRAYON_SHARED"):
        return list(arguments.text or CORPUS), limit
    return [_some_text(directory)], limit


def _some_text(directory: str) -> str:
    """A few megabytes that are on every machine: the sources of Python's library."""
    path = os.path.join(directory, "python-library.txt")
    with open(path, "wb") as out:
        for source in sorted(Path(os.__file__).parent.glob("*.py")):
            out.write(source.read_bytes().decode("utf-8", "replace").encode())
    return path
