"""The commands ``extend`` and ``shrink``: add tokens to a BPE vocabulary, or remove tokens from it."""

from __future__ import annotations

import time
from typing import Any

from crayon_hf.cli.arguments import (
    NAMED,
    NUMBER,
    Arguments,
    Decorator,
    UsageError,
    argument,
    command,
    complete_names,
    option,
    together,
)
from crayon_hf.cli.output import print_line
from crayon_hf.cli.tokenizers import local_name
from crayon_hf.cli.training import READING, corpus_source, shown_progress
from crayon_hf.util.wording import joined, plural

_SAVED = (
    option(
        *("-o", "--output"),
        required=True,
        metavar="OUT",
        help="a directory, or OUT.json or OUT.dat for files alone; id_map.json maps old ids to new ones",
    ),
    option("--overwrite", is_flag=True, help="replace all files of the tokenizer in OUT"),
)


def _name(metavar: str) -> Decorator:
    return argument("name", metavar=metavar, shell_complete=complete_names, help=f"the tokenizer: {NAMED}")


@command(
    "extend",
    alternatives=("vocab_size", "new_tokens"),
    examples=(
        ("crayon-hf extend lite book.txt -o longer/ --new-tokens 100", "learn from a file"),
        ("crayon-hf extend lite data/ -o larger/ --vocab-size 51k --min-frequency 9", "learn from a directory"),
    ),
)
@_name("NAME")
@argument("file", nargs=-1, required=True, help='a file, a directory, a pattern ("**/*.txt"), or "-" alone')
@together(*_SAVED)
@option("--vocab-size", type=NUMBER, help="the highest new id plus one: 32000, 32k")
@option("--new-tokens", type=NUMBER, help="the number of new tokens, instead of --vocab-size")
@option("--min-frequency", type=NUMBER, help="ignore pairs and new characters that are rarer")
@option("--special-token", multiple=True, metavar="TOKEN", help="a special token to add; may be repeated")
@option("--limit-alphabet", type=NUMBER, help="at most N new characters, the most frequent (default: all that fit)")
@option(
    "--max-token-length",
    type=NUMBER,
    help="new merges make tokens of fewer characters (of fewer bytes in byte-level BPE)",
)
@READING
def extend(arguments: Arguments) -> int:
    """Trains a BPE vocabulary further on files. Old ids and merges stay; new ids follow the highest one.

    It reads the same kinds of files as train.
    """
    from crayon_hf.training import extend as extend_vocabulary

    begun = time.monotonic()
    names = ("vocab_size", "new_tokens", "min_frequency", "limit_alphabet", "max_token_length")
    values = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if not values.keys() & {"vocab_size", "new_tokens"}:
        raise UsageError("--vocab-size or --new-tokens is missing")
    source = corpus_source(arguments.file, arguments.format, arguments.output)
    special_tokens = list(arguments.special_token)
    change = extend_vocabulary(
        local_name(arguments.name), source, special_tokens=special_tokens, **values, **_reading(arguments)
    )
    wanted = values.get("new_tokens", values.get("vocab_size", 0) - len(change.id_map))
    print_line(f"wrote {joined(change.files)}: {plural(len(change.id_map) + change.new_tokens, 'id')}")
    few = "" if change.new_tokens == wanted else f", {wanted:,} requested: the text has no other pairs to merge"
    print_line(f"new tokens: {change.new_tokens:,}{few}")
    print_line(f"time: {time.monotonic() - begun:.1f} s")
    return 0


@command(
    "shrink",
    examples=(
        ("crayon-hf shrink lite -o small/ --vocab-size 8k", "keep the first merges"),
        ("crayon-hf shrink lite -o used/ --used-by data/", "keep tokens in use"),
        ("crayon-hf shrink lite -o book/ --used-by book.txt --vocab-size 8k", "keep the most used"),
    ),
)
@_name("NAME")
@together(*_SAVED)
@option("--vocab-size", type=NUMBER, help="the number of tokens to keep: 8000, 8k")
@option(
    *("--used-by", "file"),
    multiple=True,
    metavar="FILE",
    help="keep the tokens that these files use; with --vocab-size the most used ones first",
)
@option("--min-frequency", type=NUMBER, default=1, show_default=True, help="uses from which on a token counts as used")
@option("--keep", multiple=True, metavar="TOKEN", help="keep this token, spelled as in the vocabulary; may be repeated")
@READING
def shrink(arguments: Arguments) -> int:
    """Removes tokens from a BPE vocabulary. Text that used no lost token gets the same tokens, with new ids.

    Added tokens, the alphabet and the tokens that other merges need stay. It reads the same kinds of files as train.
    """
    from crayon_hf.training import shrink as shrink_vocabulary

    begun = time.monotonic()
    if arguments.vocab_size is None and not arguments.file:
        raise UsageError("--vocab-size or --used-by is missing")
    used_by = corpus_source(arguments.file, arguments.format, arguments.output) if arguments.file else None
    change = shrink_vocabulary(
        local_name(arguments.name),
        vocab_size=arguments.vocab_size,
        used_by=used_by,
        min_frequency=arguments.min_frequency,
        keep=list(arguments.keep),
        **_reading(arguments),
    )
    print_line(f"wrote {joined(change.files)}: {plural(change.tokenizer.get_vocab_size(), 'token')}")
    print_line(f"lost tokens: {change.lost_tokens:,}")
    print_line(f"time: {time.monotonic() - begun:.1f} s")
    return 0


def _reading(arguments: Arguments) -> dict[str, Any]:
    names = ("column", "format", "output", "overwrite")
    values = {name: getattr(arguments, name) for name in names} | {"threads": arguments.threads or 0}
    return values | shown_progress(arguments)
