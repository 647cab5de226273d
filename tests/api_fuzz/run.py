"""Random sequences of calls and changes, ours beside the library's own: ``python tests/api_fuzz/run.py --minutes 30``.

For each face in turn: `crayon_hf.AutoTokenizer`, `crayon_hf.Tokenizer`, `crayon_hf.tiktoken`. What gives another result
is made as small as possible and printed, and the exit status is 1. At the end stands how many sequences and steps there
were. A seed decides everything. Where CRAYON_SHARED is set, `AutoTokenizer` opens published vocabularies, too.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script: the package that is installed first, then what stands beside the tests
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    os.environ["HF_HUB_OFFLINE"] = "1"
    if os.environ.get("CRAYON_SHARED"):
        os.environ["CRAYON_FACES_PUBLISHED"] = "1"

import transformers
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.api_fuzz.of_tiktoken import BothEncodings
from tests.api_fuzz.of_tokenizers import BothTokenizers
from tests.api_fuzz.of_transformers import BothFast

FACES: dict[str, type[RuleBasedStateMachine]] = {
    "transformers": BothFast,
    "tokenizers": BothTokenizers,
    "tiktoken": BothEncodings,
}
SEQUENCES, STEPS = 25, 40
"""In a round of one face: how many sequences, and how long they are at most."""


def counting(machine: type[RuleBasedStateMachine], counts: Counter[str], name: str) -> type[RuleBasedStateMachine]:
    """The machine, which counts its sequences and steps."""

    class Counting(machine):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            counts[f"{name} sequences"] += 1

        def check_invariants(self, *arguments: Any, **named: Any) -> Any:
            counts[f"{name} steps"] += 1
            return super().check_invariants(*arguments, **named)

    Counting.__name__ = Counting.__qualname__ = machine.__name__
    return Counting


def one_round(name: str, seed: int, counts: Counter[str]) -> Exception | None:
    """Some sequences for one face; what was different, if anything was."""
    rules = settings(
        max_examples=SEQUENCES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
    )
    machine: Any = seeded(seed)(counting(FACES[name], counts, name))
    try:
        run_state_machine_as_test(machine, settings=rules)
    except Exception as error:
        return error
    return None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--face", choices=FACES, action="append", help="default: all, in turn")
    options = parser.parse_args(arguments)
    names = options.face or list(FACES)
    end = time.monotonic() + 60 * options.minutes
    transformers.logging.set_verbosity_error()
    numbers, counts, differences = random.Random(options.seed), Counter[str](), 0
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("CRAYON_CACHE_DIR", cache)
        while time.monotonic() < end:
            for name in names:
                seed = numbers.randrange(1 << 32)
                error = one_round(name, seed, counts)
                if error is not None:
                    differences += 1
                    notes = "\n".join(getattr(error, "__notes__", ()))
                    print(f"-- {name}, seed {seed}: {type(error).__name__}: {error}\n{notes}", flush=True)
    print(", ".join(f"{count:,} {what}" for what, count in sorted(counts.items())) + f", {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
