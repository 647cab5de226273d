"""``python -m parity.bench.extremes``: compiling, opening, packing, and pretokens of a megabyte.

Time per byte of one pretoken of a megabyte is given as a multiple of that of prose in the same run: merging must not be
quadratic, and the promise is at most ten. Every figure is the least of some rounds, CPU time of one thread.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from crayon_hf import Tokenizer, _core
from crayon_hf.parity.compare.references import find
from crayon_hf.parity.inputs.long_pretokens import SIZE, long_pretokens
from crayon_hf.parity.inputs.texts import UnknownVocabularyError, find_text, read_text

ROUNDS = 5


def _least(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def measure(name: str, prose: str) -> None:
    """Print the figures of one vocabulary."""
    vocabulary = find(name)
    tokenizer = vocabulary.open_ours()
    if not isinstance(tokenizer, Tokenizer) or tokenizer.engine != "native":
        raise UnknownVocabularyError(f"{name} is not native: there is nothing to measure")
    with tempfile.TemporaryDirectory() as directory:
        cartridge = str(Path(directory) / "cartridge.dat")
        tokenizer.save(cartridge)
        source = cartridge.removesuffix(".dat") + ".json"
        data = Path(source).read_bytes()
        flavor = tokenizer.engine_info()["flavor"]
        compiling = _least(lambda: _core.compile_tokenizer_json(data, "{}", flavor), 3)
        opening = _least(lambda: _core.Engine.open(cartridge), 101)
        checking = _least(lambda: _core.Engine.open(cartridge, verify="memory"))
        verifying = _least(lambda: _core.Engine.open(cartridge, verify=True))
        engine = _core.Engine.open(cartridge)
        comparing = _least(lambda: engine.mismatch(data))
        tokens = {engine.id_to_bytes(id) for id in tokenizer.get_vocab().values()}
        keys = [(token, id) for id, token in enumerate(sorted(token for token in tokens if token))]
        packing = _least(lambda: _core.build_double_array(keys))
        check = _core.build_double_array(keys)[1]
        density = (1 + int((check >= 0).sum())) / len(check)
        print(
            f"{name}: compile {compiling:.2f} s, open {opening * 1e3:.3f} ms, open and check {checking * 1e3:.0f} ms, "
            f"open and verify {verifying * 1e3:.0f} ms, compare with the source {comparing * 1e3:.0f} ms; "
            f"trie of {len(keys)} tokens packed in {packing:.3f} s, density {density:.4f}"
        )

        def per_byte(texts: list[str]) -> float:
            size = sum(len(text.encode()) for text in texts)
            # A fresh engine every time: the first pass, with no pretoken in a cache.
            return _least(lambda: _core.Engine.open(cartridge).count_tokens(texts, threads=1)) / size

        base = per_byte([prose])
        print(f"  prose {base * 1e9:.1f} ns/byte")
        for kind, text in long_pretokens(prose).items():
            cost = per_byte([text])
            print(f"  {kind:22} {cost * 1e9:6.1f} ns/byte {cost / base:5.1f} x prose")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m parity.bench.extremes", description=__doc__)
    parser.add_argument(
        "vocabulary", nargs="+", metavar="VOCABULARY", help="a name below $CRAYON_SHARED/vocab, or a path"
    )
    parser.add_argument("--text", default="english", help="the prose: english, or a file (default english)")
    options = parser.parse_args(arguments)
    try:
        prose = read_text(find_text(options.text), SIZE).decode()
        for name in options.vocabulary:
            measure(name, prose)
    except (UnknownVocabularyError, OSError) as error:
        print(f"extremes: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
