"""The options that all suites share, and the texts that they select."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from crayon_hf.parity.inputs.texts import CORPUS, find_text


def add_texts(parser: argparse.ArgumentParser, strings: int) -> Callable[..., argparse.Action]:
    """Add the options for strings and texts, which all suites have. Return a function that adds options to the group.

    `strings` is the default number of generated strings.
    """
    add = parser.add_argument_group("inputs").add_argument
    add("--strings", type=int, default=strings, metavar="N", help="generated strings (default %(default)s)")
    add("--seed", type=int, default=1, help="the seed of the generated strings (default %(default)s)")
    add("--texts", action="store_true", help="also the three texts of $CRAYON_SHARED/corpus, in 2 KB documents")
    add("--text", action="append", default=[], metavar="FILE", help="also this text; may be repeated")
    add("--megabytes", type=float, metavar="MB", help="the most to read of each text")
    return add


def texts_of(arguments: argparse.Namespace) -> tuple[list[str], int | None]:
    """Return the names of the texts to compare, and the most bytes of each, or None for no limit.

    Raise UnknownVocabularyError for a text that is not found.
    """
    texts = [*(CORPUS if arguments.texts else ()), *arguments.text]
    for text in texts:
        find_text(text)
    return texts, None if arguments.megabytes is None else int(arguments.megabytes * 1e6)
