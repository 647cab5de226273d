"""Suites of inputs, each encoded in one mode, and the worker process in which both sides encode them.

The worker writes JSON lines as it advances, so its parent knows the last step even if the worker crashes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from crayon_hf import _core
from crayon_hf.tokenizer_json.components import COMPONENTS
from crayon_hf.tokenizer_state.state import TokenizerState

from ..inputs.byte_strings import generate_bytes
from ..inputs.strings import generate
from ..inputs.texts import text_documents
from ..inputs.token_strings import generate_of_tokens
from .comparison import Comparison, FastPaths, Result, batches, pairs, singles
from .records import DEFAULT, Item, Mode, OurBytesSide, SameBytesSide, Side, has_surrogates
from .references import Vocabulary

WINDOWS = (
    Mode(max_length=16, stride=4, pad="right", pad_multiple=8),
    Mode(max_length=16, stride=4, direction="left", pad="left"),
    Mode(max_length=9, stride=5, strategy="only_first", direction="left"),
    Mode(pad="left", pad_length=12, pad_id=1),
    Mode(words=True, max_length=10, stride=3),
    Mode(add_special_tokens=False, max_length=13, strategy="longest_first", pad="right", pad_multiple=5),
    Mode(pad="right"),
    Mode(max_length=64, stride=8, special_as_text=True),
)
"""Truncation from both sides, with stride and overflow, and padding on both sides, each on a share of the inputs."""
WINDOWS_OF_PAIRS = (*WINDOWS, Mode(max_length=16, stride=2, strategy="only_second", pad="left", pad_multiple=4))

WINDOW_CHARACTERS, WINDOW_CHARACTERS_OF_PAIRS = 400, 80
"""In modes with windows, texts are cut to this many characters. A pair's texts are shorter: the numbers of windows of
its two texts multiply."""

VARIANTS = ("pairs", "no_special", "as_text", "words", "windows")
"""Names of the ways, besides the default mode, in which suites are repeated (`variant`)."""
WITH_VARIANTS = ("tokenizers", "transformers")
"""The references that support these variants."""
WITH_BYTES = ("tokenizers", "tiktoken")
"""The references whose vocabularies also encode bytes."""

GENERATED = ("strings", "tokens", "bytes")
Event = dict[str, Any]


@dataclass(frozen=True)
class Suite:
    """Inputs from one source, in one mode."""

    source: str
    """``strings``, ``tokens``, ``bytes``, or the name or path of a text."""
    strings: int = 0
    seed: int = 1
    limit: int | None = None
    """The most bytes of a text. None for no limit."""
    paired: bool = False
    mode: Mode = DEFAULT
    every: int = 1
    """Take each n-th input, beginning with number ``first``, so that several modes share the inputs of a source."""
    first: int = 0
    title: str = ""
    """The name of a text in reports. If empty, the name of its file."""

    @property
    def name(self) -> str:
        """The name in reports: the source, then all settings that are not the default."""
        labels = [label for label in ("pairs" if self.paired else "", self.mode.label) if label]
        source = self.source if self.source in GENERATED else self.title or Path(self.source).name.split(".")[0]
        return "/".join([source, *labels])

    def inputs(self, vocabulary: Vocabulary) -> Iterator[tuple[str, Item]]:
        """Yield the category and item of each input. The category of a text is its name."""
        if self.source == "strings":
            texts = generate(self.strings, self.seed, specials=vocabulary.specials())
        elif self.source == "tokens":
            texts = generate_of_tokens(vocabulary.token_bytes(), self.strings, self.seed)
        elif self.source == "bytes":
            texts = ((name, data.decode("latin-1")) for name, data in generate_bytes(self.strings, self.seed))
        else:
            texts = text_documents(self.source, self.limit)
        if vocabulary.kind == "sentencepiece":  # it does not accept lone surrogates
            texts = ((category, text) for category, text in texts if not has_surrogates((text,)))
        if self.mode.windows:
            most = WINDOW_CHARACTERS_OF_PAIRS if self.paired else WINDOW_CHARACTERS
            texts = ((category, text[:most]) for category, text in texts)
        return islice(pairs(texts) if self.paired else singles(texts), self.first, None, self.every)


def variant(name: str, suites: Sequence[Suite]) -> list[Suite]:
    """Return the suites in a variant. Pairs run with and without special tokens, windows on single texts and pairs."""
    paired = [replace(suite, paired=True) for suite in suites]
    plain = Mode(add_special_tokens=False)
    if name == "windows":
        windows = [*((suite, WINDOWS) for suite in suites), *((suite, WINDOWS_OF_PAIRS) for suite in paired)]
        return [each for suite, modes in windows for each in _shared_out(suite, modes)]
    if name == "pairs":
        return [*paired, *(replace(suite, mode=plain) for suite in paired)]
    modes = {"no_special": plain, "as_text": Mode(special_as_text=True), "words": Mode(words=True)}
    return [replace(suite, mode=modes[name]) for suite in suites]


def _shared_out(suite: Suite, modes: Sequence[Mode]) -> list[Suite]:
    """Return the suite in several modes, each on its share of the inputs."""
    return [replace(suite, mode=mode, every=len(modes), first=i) for i, mode in enumerate(modes)]


@dataclass(frozen=True)
class Work:
    """The work of one worker: one vocabulary, one instruction set, several suites."""

    vocabulary: Vocabulary
    suites: tuple[Suite, ...]
    cpu: str = ""
    """The instruction set requested through ``CRAYON_CPU``. If empty, the best one."""
    ours: str = ""
    """``module:function`` that opens our side, given the vocabulary. If empty, ``crayon_hf.Tokenizer``."""
    reports: int = 5
    threads: int = 1
    careful_from: int = -1
    """If not negative, encode the texts of the batch that begins with this input one by one, and report before each."""

    def to_json(self) -> str:
        """The work as JSON, for the standard input of a worker."""
        return json.dumps(asdict(self), default=str)

    @staticmethod
    def from_json(text: str) -> Work:
        """Return the work that ``to_json`` has written."""
        values = json.loads(text)
        vocabulary = values.pop("vocabulary")
        vocabulary["path"] = Path(vocabulary["path"])
        suites = tuple(Suite(**{**suite, "mode": Mode(**suite["mode"])}) for suite in values.pop("suites"))
        return Work(vocabulary=Vocabulary(**vocabulary), suites=suites, **values)

    def opener(self) -> Callable[[], Any]:
        """The function that opens our tokenizer."""
        if not self.ours:
            return self.vocabulary.open_ours
        module, _, function = self.ours.partition(":")
        opener = getattr(import_module(module), function)
        return lambda: opener(self.vocabulary)


def _differing(state: TokenizerState) -> str | None:
    """Return the components in which an open tokenizer differs from its cartridge, or None without a cartridge."""
    if state.path is None:
        return None
    said, parts = json.loads(_core.Engine.open(state.path).components), state.without_vocabulary()
    names = [kind for kind in (*COMPONENTS, "model") if said.get(kind) != parts[kind]]
    return ", ".join(names) or "added tokens"


def run_work(work: Work, emit: Callable[[Event], None]) -> None:
    """Run every suite, and call `emit` with events that report the progress.

    Their names are ``opened``, ``at``, ``suite``, ``skipped`` and ``refused``, and with `careful_from` ``trying``.
    """
    vocabulary = work.vocabulary
    opener = work.opener()
    opened = opener()
    tokenizer = getattr(opened, "backend_tokenizer", opened)  # for a tokenizer of transformers
    report = tokenizer.engine_report() if hasattr(tokenizer, "engine_report") else {}
    facts = {"source_digest": getattr(tokenizer, "source_digest", None), "vocab_size": 0}
    state = getattr(tokenizer, "_state", None)
    facts |= {"cartridge": report.get("cartridge"), "refused": report.get("refused")}
    if state is not None and state.is_modified:  # its components are not those of the cartridge
        facts |= {"cartridge": None, "refused": facts["refused"] or _differing(state)}
    if hasattr(tokenizer, "get_vocab_size"):
        facts["vocab_size"] = tokenizer.get_vocab_size()
    emit({"event": "opened", "engine": report.get("engine", ""), "cpu": report.get("cpu") or "", **facts})
    if report.get("engine") == "delegated":
        emit(
            {"event": "refused", "reason": f"delegated to the reference, which proves nothing: {report.get('reason')}"}
        )
        return
    if work.cpu and report and report["cpu"] != work.cpu:
        emit({"event": "refused", "reason": f"asked for {work.cpu}, but {report['cpu']} is in use"})
        return
    ours = vocabulary.our_side(opener)
    kept: list[Side] = []

    def reference() -> Side:
        if not kept:
            kept.append(vocabulary.reference_side(work.threads))
        return kept[0]

    is_fast = vocabulary.has_fast_paths and hasattr(opened, "encode_ragged")
    info = tokenizer.engine_info() if hasattr(tokenizer, "engine_info") else {}
    for suite in work.suites:
        if suite.source == "bytes" and info.get("tokens", "bytes") != "bytes":
            emit({"event": "skipped", "suite": suite.name, "reason": "its tokens are texts: bytes do not come back"})
            continue
        of_bytes = suite.source == "bytes"
        comparison = Comparison(
            OurBytesSide(opened) if of_bytes else ours,
            SameBytesSide if of_bytes else reference,
            suite.mode,
            FastPaths(opened) if is_fast and not of_bytes else None,
            on_batch=partial(_at, emit, suite.name),
        )
        if work.careful_from >= 0:
            _try_each(comparison, suite.inputs(vocabulary), work.careful_from, emit)
            continue
        result = comparison.run(suite.inputs(vocabulary), work.reports)
        emit(event_of(suite.name, result))


def event_of(suite: str, result: Result) -> Event:
    """Return the event that reports the result of a suite."""
    return {
        "event": "suite",
        "suite": suite,
        "inputs": dict(result.inputs),
        "differing": dict(result.differing),
        "characters": result.characters,
        "seconds": round(result.seconds, 3),
        "differences": [difference.to_json() for difference in result.differences],
        "report": [line for difference in result.differences for line in difference.lines()],
    }


def _try_each(
    comparison: Comparison, inputs: Iterator[tuple[str, Item]], first: int, emit: Callable[[Event], None]
) -> None:
    """Encode the batch that begins with input `first` one by one. After a crash the last report names the culprit."""
    reached = 0
    for batch in batches(inputs):
        if reached >= first:
            for _, item in batch:
                for side, name in ((comparison.ours, "ours"), (comparison.reference, "the reference")):
                    emit({"event": "trying", "side": name, "input": ", ".join(ascii(text) for text in item)})
                    side.outcomes([item], comparison.mode)
                    if name == "ours" and comparison.fast_paths is not None:
                        comparison.differences_of(item)
            return
        reached += len(batch)


def _at(emit: Callable[[Event], None], suite: str, first: int) -> None:
    emit({"event": "at", "suite": suite, "first": first})


def main() -> int:
    """Run the worker: read a Work from standard input, and write events to standard output."""
    sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    work = Work.from_json(sys.stdin.read())
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output that libraries print is not an event

    def emit(event: Event) -> None:
        output.write(json.dumps(event) + "\n")
        output.flush()

    run_work(work, emit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
