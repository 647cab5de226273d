"""The commands, and the groups in which the help lists them."""

from __future__ import annotations

from crayon_hf import __version__
from crayon_hf.cli.arguments import Parser, listed
from crayon_hf.cli.commands import add_decode, add_encode
from crayon_hf.cli.completion import add_completion
from crayon_hf.cli.conversion import add_convert
from crayon_hf.cli.corpus_report import add_corpus_report
from crayon_hf.cli.counting import add_count
from crayon_hf.cli.describing import add_info, add_list
from crayon_hf.cli.hub import add_pull
from crayon_hf.cli.inspect import add_inspect
from crayon_hf.cli.parity import add_parity
from crayon_hf.cli.publish import add_publish
from crayon_hf.cli.running import add_run
from crayon_hf.cli.split import add_split
from crayon_hf.cli.storing import add_cache
from crayon_hf.cli.tokenize import add_tokenize
from crayon_hf.cli.training import add_train
from crayon_hf.cli.truncating import add_truncate

GROUPS = (
    ("texts and ids", ("encode", "decode", "count", "truncate", "split", "inspect")),
    ("tokenizers", ("info", "list", "convert", "train", "cache")),
    ("corpora", ("tokenize", "corpus-report")),
    ("the Hub", ("pull", "publish")),
    ("parity", ("parity",)),
    ("programs and shells", ("run", "completion")),
)

EXAMPLES = (
    ('crayon-hf encode "Hello, world!"', "the ids of a text"),
    ("crayon-hf decode 23071 11 1125 0", "back to text"),
    ('crayon-hf inspect "Hello, world!"', "its tokens in colour"),
    ("crayon-hf count -f book.txt poem.txt", "how many tokens files have"),
    ("crayon-hf train book.txt -o my-model/ --vocab-size 1k", "train your own tokenizer"),
    ("crayon-hf info my-model/", "show what a tokenizer is"),
    ("crayon-hf tokenize data/ -o tokens/ -t my-model/", "tokenize a corpus into token files"),
)

_TOKENIZERS = """\

A tokenizer (-t) is the path of a tokenizer.json, a directory, a cartridge (.dat), a GGUF file, a SentencePiece model, a
rank file and so on, or the name of a profile (crayon-hf list), of an encoding of tiktoken or of a repository of the Hub
(user/name). A path comes first; ./lite is always a path, profile:lite a profile. The default is the profile "lite",
which is part of the package.
"crayon-hf COMMAND --help" explains a command.
"""


def build_parser() -> Parser:
    """The parser; what it returns has the command's function as `run`, and its parser as `command`."""
    parser = Parser(
        prog="crayon-hf",
        usage="crayon-hf COMMAND ...",
        description="Text to token ids and back: the same ids as tokenizers and tiktoken, many times faster.",
        epilog=f"{listed(EXAMPLES)}\n{_TOKENIZERS}",
    )
    parser.groups = GROUPS
    parser.add_argument("--version", action="version", version=f"crayon-hf {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, prog="crayon-hf")
    for add in (
        *(add_encode, add_decode, add_count, add_truncate, add_split, add_inspect),
        *(add_info, add_list, add_convert, add_train, add_cache),
        add_tokenize,
        add_corpus_report,
        *(add_pull, add_publish),
        add_parity,
        *(add_run, add_completion),
    ):
        add(subparsers)
    return parser
