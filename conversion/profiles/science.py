"""Make the `science` profile from science_terms.txt: the 256 bytes and the terms, matched longest first.

python -m conversion.profiles.science -o crayon_hf/profiles/science.json
"""

from __future__ import annotations

import argparse
from pathlib import Path

from crayon_hf.formats.terms import from_terms

SHORTEST_WORD = 4  # letters; a shorter term is a symbol, unless it is a common word
COMMON = "the words between them"


def terms(text: str) -> list[str]:
    """Return the terms of the list in order, then the words among them again with a space in front."""
    section, listed, words = "", [], []
    for line in text.splitlines():
        if line.startswith("# "):
            section = line[2:]
            continue
        listed += line.split()
        words += [
            term
            for term in line.split()
            if section == COMMON or (term.isascii() and term.isalpha() and len(term) >= SHORTEST_WORD)
        ]
    return listed + [f" {word}" for word in words]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the tokenizer.json to write")
    options = parser.parse_args()
    listed = terms(Path(__file__).with_name("science_terms.txt").read_text(encoding="utf-8"))
    converted = from_terms(listed)
    options.output.write_bytes(converted.tokenizer_json)
    print(f"{options.output}: {len(listed)} terms, {len(converted.tokenizer_json)} bytes")


if __name__ == "__main__":
    main()
