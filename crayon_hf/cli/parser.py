"""What the commands are called, and in which order they are listed."""

from __future__ import annotations

import argparse
from typing import NoReturn

from crayon_hf import __version__
from crayon_hf.cli.arguments import UsageError
from crayon_hf.cli.commands import add_count, add_decode, add_encode, add_info
from crayon_hf.cli.conversion import add_convert
from crayon_hf.cli.hub import add_pull
from crayon_hf.cli.inspect import add_inspect
from crayon_hf.cli.measuring import add_bench
from crayon_hf.cli.parity import add_parity
from crayon_hf.cli.publish import add_publish
from crayon_hf.cli.running import add_run
from crayon_hf.cli.tokenize import add_tokenize
from crayon_hf.cli.training import add_train

_EXAMPLES = """\
examples:
  crayon-hf encode "Hello, world!"              the ids of a text
  crayon-hf encode "Hello, world!" --json       with tokens and offsets
  crayon-hf decode 15496 11 995                 back to text
  crayon-hf inspect "Hello, world!" --trace     the tokens in colour, and how they came to be
  cat book.txt | crayon-hf count                how many tokens a text has
  crayon-hf count -t llama3/tokenizer.json -f book.txt
  crayon-hf convert llama3/tokenizer.json -o llama3.dat
  crayon-hf convert mistral.gguf -o mistral/      a directory that transformers opens
  crayon-hf parity llama3/ --html report.html    is it the same as the reference, and how fast
  crayon-hf train *.txt -o my-model/            a tokenizer of one's own
  crayon-hf tokenize data/ -o tokens/ -t llama3  a corpus to token files, on all cores
  crayon-hf pull user/name                      a repository on the Hub becomes the profile "name"
  crayon-hf publish user/name --from my-model/  a repository with a cartridge and a model card
  crayon-hf run script.py                       a program in which transformers opens our tokenizers

A tokenizer (-t) is the name of a profile, or the path of whatever convert takes: a tokenizer.json, a directory, a
cartridge (.dat), a GGUF file, a SentencePiece model, a rank file and so on; what it is, its content says. Without -t it
is the profile "lite", which is part of the package and needs no network.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (try: {self.prog} --help)")


def build_parser() -> argparse.ArgumentParser:
    """The parser; what it returns has the command's function as `run`."""
    parser = _Parser(
        prog="crayon-hf",
        description="Text to token ids and back: the same ids as tokenizers and tiktoken, many times faster.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"crayon-hf {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_encode(subparsers)
    add_decode(subparsers)
    add_count(subparsers)
    add_inspect(subparsers)
    add_convert(subparsers)
    add_train(subparsers)
    add_tokenize(subparsers)
    add_pull(subparsers)
    add_publish(subparsers)
    add_info(subparsers)
    add_run(subparsers)
    add_bench(subparsers)
    add_parity(subparsers)
    return parser
