"""The commands ``encode`` and ``decode``."""

from __future__ import annotations

import os
import shlex
import sys

from crayon_hf.cli.arguments import BYTES, TOKENIZER, Arguments, argument, command, option
from crayon_hf.cli.id_lists import parse_ids
from crayon_hf.cli.inputs import TEXTS, batches, find_files, opened, standard_input, texts_of, utf8
from crayon_hf.cli.output import as_json, print_line
from crayon_hf.cli.tokenizers import open_named
from crayon_hf.errors import CrayonError


@command(
    "encode",
    examples=(
        ('crayon-hf encode "Hello, world!"', "the ids"),
        ('crayon-hf encode "Hello, world!" --json', "ids, tokens and offsets"),
        ("crayon-hf encode book.txt --lines", "a file, line by line"),
        ('crayon-hf encode "Hello" -t my-model/', "with another tokenizer"),
    ),
)
@TEXTS
@BYTES
@option("--json", is_flag=True, help="print an object with ids, tokens and offsets per text")
def encode(arguments: Arguments) -> int:
    """Prints the ids of each text on a line of its own, separated by spaces.

    A text from a file or from standard input includes its last newline.
    """
    find_files(arguments)
    texts = texts_of(arguments)
    tokenizer = opened(arguments)
    if arguments.bytes:
        for data in texts:
            ids = tokenizer.encode_bytes(data)
            tokens = [tokenizer.id_to_token(id) for id in ids]
            print_line(as_json({"ids": ids, "tokens": tokens}) if arguments.json else _spaced(ids))
        return 0
    for batch in batches(texts):
        encode_batch = tokenizer.encode_batch if arguments.json else tokenizer.encode_batch_fast
        for encoding in encode_batch([utf8(data) for data in batch], add_special_tokens=not arguments.no_special):
            if arguments.json:
                print_line(as_json({"ids": encoding.ids, "tokens": encoding.tokens, "offsets": encoding.offsets}))
            else:
                print_line(_spaced(encoding.ids))
    return 0


@command(
    "decode",
    examples=(
        ("crayon-hf decode 23071 11 1125 0", "Hello, world!"),
        ("crayon-hf decode '[23071, 11]'", "a list as JSON"),
        ("crayon-hf encode poem.txt --lines | crayon-hf decode", "there and back"),
    ),
)
@argument("ids", nargs=-1, help='the ids; "-" or no argument reads standard input')
@option("--special", is_flag=True, help="keep special tokens in the text")
@option("--bytes", is_flag=True, help="write the exact bytes, without a newline")
@TOKENIZER
def decode(arguments: Arguments) -> int:
    """Prints the text of ids.

    They may be separated by spaces or commas, or be JSON, as encode prints them. From standard input, each line is a
    text of its own.
    """
    if arguments.ids in ((), ("-",)):
        lists = parse_ids(utf8(standard_input("ids").read()))
    else:
        if os.path.isfile(name := arguments.ids[0]) and not name.isdecimal():
            raise CrayonError(f"{name!r} is not an id; crayon-hf decode < {shlex.quote(name)} reads the file")
        lists = parse_ids(" ".join(arguments.ids))
    tokenizer = open_named(arguments.tokenizer)
    for ids in lists:
        if arguments.bytes:
            sys.stdout.buffer.write(tokenizer.decode_bytes(ids, not arguments.special))
        else:
            print_line(tokenizer.decode(ids, not arguments.special, "error"))
    return 0


def _spaced(ids: list[int]) -> str:
    return " ".join(map(str, ids))
