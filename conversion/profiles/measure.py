"""Bytes per token of the profiles and of r50k_base, cl100k_base and o200k_base, and a check that texts round-trip.

    python -m conversion.profiles.measure --texts DIR --shared SHARED [--markdown docs/profiles.md]

DIR is the output of evaluation.py, or any folder of *.txt or *.txt.xz; SHARED (or the environment variable
CRAYON_SHARED) has vocab/NAME/NAME.tiktoken. In a mean of bytes per token, each text counts the same.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tokenizers import Tokenizer

import crayon_hf
from crayon_hf.parity.inputs.strings import generate
from crayon_hf.util.markdown import put_between_marks, table_lines

DOCUMENT = 20_000  # characters in each piece that is encoded at once
REFERENCES = ("r50k_base", "cl100k_base", "o200k_base")
RATIOS = (("lite", "r50k_base"), ("standard", "cl100k_base"), ("standard", "o200k_base"))

Rates = dict[str, float]  # bytes per token by encoder


def documents(path: Path) -> Iterator[str]:
    """Yield the text of a file in pieces of about DOCUMENT characters, cut at line ends."""
    data = path.read_bytes()
    document: list[str] = []
    size = 0
    for line in (lzma.decompress(data) if path.suffix == ".xz" else data).decode().splitlines(keepends=True):
        document.append(line)
        size += len(line)
        if size >= DOCUMENT:
            yield "".join(document)
            document, size = [], 0
    if document:
        yield "".join(document)


def single_spaced(text: str) -> str:
    """Remove indents: r50k_base spends an id on almost every space of an indent, which hides its rate on words."""
    return re.sub(r"[ \t]*\n\s*|[ \t]+", lambda m: "\n" if "\n" in m[0] else " ", text)


def reachable(tokenizer: Tokenizer) -> int:
    """Return the number of ids whose token's text encodes to exactly this id."""
    size = tokenizer.get_vocab_size(with_added_tokens=False)
    model = tokenizer.model
    return sum([t.id for t in model.tokenize(tokenizer.id_to_token(i))] == [i] for i in range(size))


def check(name: str, tokenizer: Tokenizer) -> None:
    """Check that random strings round-trip, and count the reachable ids."""
    texts = [text.encode("utf-8", "replace").decode() for _, text in generate(20_000, seed=1)]
    for text in texts:
        assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text, repr(text)
    trained = tokenizer.get_vocab_size(with_added_tokens=False)
    print(f"{name}: {len(texts)} random strings decoded to themselves;", end=" ")
    print(f"{reachable(tokenizer)} of {trained} trained ids are the encoding of their own bytes")


def measured(
    paths: Sequence[Path], profiles: dict[str, Path], references: dict[str, Path], spaced: bool
) -> dict[str, tuple[int, Rates]]:
    """Return each text's size, and each vocabulary's bytes per token. Every profile must decode the text back."""
    opened = {name: crayon_hf.Tokenizer.from_tiktoken(path) for name, path in references.items()}
    stock = {name: Tokenizer.from_file(str(path)) for name, path in profiles.items()}
    with tempfile.TemporaryDirectory() as place:
        written = []
        for path in paths:
            texts = [single_spaced(text) if spaced else text for text in documents(path)]
            for name, tokenizer in stock.items():
                ids = [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
                assert tokenizer.decode_batch(ids, skip_special_tokens=False) == texts, f"{name} loses some of {path}"
            written.append(Path(place) / f"{path.name.split('.')[0]}.jsonl")
            written[-1].write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts), encoding="utf-8")
        found = crayon_hf.compare({**profiles, **opened}, written)
    return {
        Path(group.name).stem: (group.bytes, {name: of.bytes_per_token or 0.0 for name, of in group.figures.items()})
        for group in found.files
    }


def mean(rows: Sequence[Rates]) -> Rates:
    return {name: statistics.fmean(row[name] for row in rows) for name in rows[0]}


def table(groups: dict[str, dict[str, tuple[int, Rates]]]) -> list[str]:
    """Return the lines of a table: a row for each text, and the means of each group and of all texts."""
    every = [rates for texts in groups.values() for _, rates in texts.values()]
    ratios = [pair for pair in RATIOS if all(name in every[0] for name in pair)]

    def row(title: str, size: str, rates: Rates, style: str = "") -> list[str]:
        cells = [f"{style}{value:.3f}{style}" for value in rates.values()]
        cells += [f"{style}{rates[ours] / rates[theirs] - 1:+.1%}{style}" for ours, theirs in ratios]
        return [f"{style}{title}{style}", size, *cells]

    heads = ["text", "MB", *every[0], *(f"{ours} against {theirs}" for ours, theirs in ratios)]
    rows = []
    for group, texts in groups.items():
        rows += [row(name, f"{size / 1e6:.2f}", rates) for name, (size, rates) in texts.items()]
        rows.append(row(f"mean of {group}", "", mean([rates for _, rates in texts.values()]), "**"))
    rows.append(row("mean of all texts", "", mean(every), "**"))
    if len(groups) > 1:
        of_groups = [mean([rates for _, rates in texts.values()]) for texts in groups.values()]
        rows.append(row(f"mean of the {len(groups)} groups", "", mean(of_groups), "**"))
    return [*table_lines(heads, rows, numbers=len(heads) - 1)]


def verdicts(groups: dict[str, dict[str, tuple[int, Rates]]]) -> list[str]:
    """Return a line for each aim of the profiles that says whether it is reached. The worst text decides about an aim
    for every text."""
    rows: list[tuple[str, ...]] = []

    def say(claim: str, ours: str, theirs: str, texts: dict[str, Rates], least: float) -> None:
        if not texts or ours not in next(iter(texts.values())):
            return
        changes = {name: rates[ours] / rates[theirs] - 1 for name, rates in texts.items()}
        worst = min(changes, key=lambda name: changes[name])
        short = [name for name, change in changes.items() if change < least]
        found = f"no: {', '.join(short)} short" if short else "yes"
        rows.append((ours, claim, f"{changes[worst]:+.1%} ({worst})", found))

    def rates_of(group: str) -> dict[str, Rates]:
        return {name: rates for name, (_, rates) in groups.get(group, {}).items()}

    english, code, other = rates_of("English prose"), rates_of("code"), rates_of("other languages")
    if not (english and code and other):
        return []
    above = 1e-9  # "better" excludes equal rates
    say("within 5% of r50k_base on English prose", "lite", "r50k_base", english, -0.05)
    say("better than r50k_base on code", "lite", "r50k_base", code, above)
    say("better than r50k_base on every other language", "lite", "r50k_base", other, above)
    say("better than cl100k_base on code", "standard", "cl100k_base", code, above)
    of_others = {"mean": mean(list(other.values()))}
    say("better than cl100k_base on the mean of other languages", "standard", "cl100k_base", of_others, above)
    both = {"mean of all texts": mean([*english.values(), *code.values(), *other.values()]),
            "mean of the groups": mean([mean(list(g.values())) for g in (english, code, other)])}  # fmt: skip
    say("within 5% of o200k_base on the mean of all", "standard", "o200k_base", both, -0.05)
    return [*table_lines(("profile", "aim", "worst of those meant", "reached"), rows)] if rows else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    packaged = [p for p in (Path(f"crayon_hf/profiles/{n}.json") for n in ("lite", "standard")) if p.exists()]
    parser.add_argument("profiles", type=Path, nargs="*", default=packaged, help="NAME.json; default: packaged ones")
    parser.add_argument("--texts", type=Path, help="folder of texts, with the manifest.json of evaluation.py if any")
    parser.add_argument("--shared", type=Path, default=os.environ.get("CRAYON_SHARED"))
    parser.add_argument("--single-spaced", action="store_true", help="collapse runs of spaces, and remove indents")
    parser.add_argument("--markdown", type=Path, help="put the aims and means into this document, between its marks")
    options = parser.parse_args()

    profiles = {path.stem.split("-")[0]: path for path in options.profiles}
    if options.texts is None:
        for name, path in profiles.items():
            check(name, Tokenizer.from_file(str(path)))
        return
    if options.shared is None:
        parser.error("--texts needs --shared or CRAYON_SHARED")
    references = {name: Path(options.shared) / "vocab" / name / f"{name}.tiktoken" for name in REFERENCES}
    manifest = options.texts / "manifest.json"
    group_of: dict[str, str] = {}
    paths = sorted(options.texts.glob("*.txt*"))
    if manifest.exists():
        group_of = {row["name"]: row["group"] for row in json.loads(manifest.read_text())}
        paths = [options.texts / f"{name}.txt" for name in group_of]
    groups: dict[str, dict[str, tuple[int, Rates]]] = {}
    for name, of_text in measured(paths, profiles, references, options.single_spaced).items():
        groups.setdefault(group_of.get(name, "these"), {})[name] = of_text
    judged = verdicts(groups)
    lines = [*judged, "", *table(groups)] if judged else table(groups)
    if options.markdown:
        of_texts = {f"| {name} |" for texts in groups.values() for name in texts}
        kept = [f"{line}\n" for line in lines if not line.startswith(tuple(of_texts))]
        put_between_marks(options.markdown, "measure", "".join(kept))
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
