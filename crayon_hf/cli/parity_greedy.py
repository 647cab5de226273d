"""``parity --greedy``: measure how often longest match gives the exact ids, and its speed."""

from __future__ import annotations

import json
from importlib.metadata import version
from tempfile import TemporaryDirectory

from crayon_hf._core import __version__
from crayon_hf.cli.arguments import Arguments
from crayon_hf.cli.output import print_line
from crayon_hf.cli.tokenizers import local_name, open_named
from crayon_hf.errors import CrayonError
from crayon_hf.util.files import write_atomic
from crayon_hf.util.progress import Progress

BESIDE = ("tokenizers", "llama.cpp")
"""Libraries that ``parity --greedy`` can time, too."""


def parity_of_greedy(arguments: Arguments) -> int:
    """Run the measurement and print or write the results."""
    with TemporaryDirectory(prefix="crayon-parity-") as directory:
        return _greedy(arguments, directory)


def _greedy(arguments: Arguments, directory: str) -> int:
    from crayon_hf.parity import greedy
    from crayon_hf.parity.inputs.texts import default_texts, find_text, read_text
    from crayon_hf.parity.speed.machine import machine_lines

    for text in arguments.text:
        find_text(text)
    texts = arguments.text or default_texts(directory)
    limit = None if arguments.megabytes is None else int(arguments.megabytes * 1e6)
    target = local_name(arguments.target)
    exact, other = (open_named(target, mode) for mode in ("exact", "greedy"))
    contestants = {"greedy": greedy.ours(other), "exact": greedy.ours(exact)}
    for name in filter(None, arguments.beside.split(",")):
        if name not in BESIDE:
            raise CrayonError(f"--beside {name}: expected one of {', '.join(BESIDE)}")
        contestants[name] = greedy.reference(exact) if name == "tokenizers" else greedy.llama_cpp(target)
    results, shown = [], Progress()
    for spec in texts:
        path = find_text(spec)
        text = read_text(path, limit).decode()
        if not text:
            raise CrayonError(f"{path} is empty: give a text to compare")
        try:
            results.append(greedy.agreement(exact, other, text, path.name.split(".")[0], shown))
            rounds = greedy.ROUNDS if arguments.rounds is None else arguments.rounds
            if rounds:
                results[-1].speeds = greedy.measure(contestants, text, rounds, shown)
        finally:
            shown.end()
    machine = machine_lines([], {"crayon-hf": __version__, "tokenizers": version("tokenizers")})
    plain = json.dumps({"machine": machine, "texts": [result.to_json() for result in results]})
    if arguments.json == "-":
        print_line(plain)
    else:
        if arguments.json:
            write_atomic(arguments.json, plain.encode() + b"\n")
        print_line("\n".join([*machine[:2], "", greedy.table(results)]))
    return 0
