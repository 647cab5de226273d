"""What the commands are called and what they take."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from crayon_hf import __version__
from crayon_hf.cli import commands, conversion, measuring
from crayon_hf.cli.bench_options import add_options
from crayon_hf.state.modes import MODES

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

A tokenizer (-t) is the name of a profile, or the path of whatever convert takes: a tokenizer.json, a directory, a
cartridge (.dat), a GGUF file, a SentencePiece model, a rank file and so on; what it is, its content says. Without -t it
is the profile "lite", which is part of the package and needs no network.
"""


class UsageError(Exception):
    """The command line itself is wrong."""


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
    _add_encode(subparsers)
    _add_decode(subparsers)
    _add_count(subparsers)
    _add_inspect(subparsers)
    _add_convert(subparsers)
    _add_train(subparsers)
    _add_tokenize(subparsers)
    _add_pull(subparsers)
    _add_publish(subparsers)
    _add_info(subparsers)
    _add_bench(subparsers)
    _add_parity(subparsers)
    return parser


def _command(subparsers: Any, name: str, run: Any, help: str, description: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = subparsers.add_parser(
        name, help=help, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.set_defaults(run=run)
    return command


def _add_tokenizer(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-t",
        "--tokenizer",
        default="lite",
        metavar="NAME_OR_PATH",
        help='a profile name, or the path of a vocabulary of any kind (default: the profile "lite")',
    )


def _add_mode(command: argparse.ArgumentParser) -> None:
    command.add_argument("--mode", choices=MODES, default="exact", help="greedy: longest match (default: %(default)s)")


def _add_texts(command: argparse.ArgumentParser) -> None:
    command.add_argument("text", nargs="*", help='the text; "-", or none at all, reads standard input')
    command.add_argument("-f", "--file", metavar="FILE", help="read the text from a file")
    command.add_argument("--lines", action="store_true", help="each line of the input is a text of its own")
    _add_special(command)
    _add_tokenizer(command)
    _add_mode(command)


def _add_special(command: argparse.ArgumentParser) -> None:
    command.add_argument("--no-special", action="store_true", help="do not add special tokens around the text")
    command.add_argument(
        "--special-as-text", action="store_true", help="read special tokens inside the text as ordinary text"
    )
    command.add_argument("--bytes", action="store_true", help="the input is any bytes, not UTF-8 text; lossless")


def _add_encode(subparsers: Any) -> None:
    command = _command(
        subparsers,
        "encode",
        commands.encode,
        "text to ids",
        "Prints the ids of each text on a line of its own, separated by spaces.\n"
        "A text from a file or from standard input is taken as it is, its last newline included.",
    )
    _add_texts(command)
    command.add_argument("--json", action="store_true", help="print an object with ids, tokens and offsets per text")


def _add_count(subparsers: Any) -> None:
    command = _command(
        subparsers, "count", commands.count, "how many tokens a text has", "Prints the number of tokens of each text."
    )
    _add_texts(command)


def _add_decode(subparsers: Any) -> None:
    command = _command(
        subparsers,
        "decode",
        commands.decode,
        "ids to text",
        "Prints the text of some ids. They may be separated by spaces or commas, or be JSON, as encode prints them.\n"
        "From standard input, each line is a text of its own.",
    )
    command.add_argument("ids", nargs="*", help='the ids; "-", or none at all, reads standard input')
    command.add_argument("--special", action="store_true", help="keep special tokens in the text")
    command.add_argument("--bytes", action="store_true", help="write the exact bytes, with no newline after them")
    _add_tokenizer(command)


def _add_inspect(subparsers: Any) -> None:
    command = _command(
        subparsers,
        "inspect",
        _inspect,
        "see the tokens of a text",
        "Shows a text with its tokens in colour, and a table of them. White space and control characters are made\n"
        "visible, and a token that is a part of a character shows its bytes.",
    )
    command.add_argument("text", nargs="?", help='the text; "-", or none at all, reads standard input')
    command.add_argument("-f", "--file", metavar="FILE", help="read the text from a file")
    _add_tokenizer(command)
    command.add_argument("--trace", action="store_true", help="show every merge, and every walk of longest match")
    command.add_argument(
        "--mode",
        choices=("exact", "greedy", "both"),
        help="as the reference does, by longest match, or one beside the other (default: exact; with --trace both)",
    )
    command.add_argument("--ids", action="store_true", help="write ids into the text instead of a table below it")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.add_argument(
        "--color",
        "--colour",
        choices=("auto", "always", "never"),
        default="auto",
        help="default: on a terminal, unless NO_COLOR is set",
    )
    command.add_argument("--no-color", "--no-colour", dest="color", action="store_const", const="never")
    _add_special(command)


def _inspect(arguments: argparse.Namespace) -> int:
    from crayon_hf.cli.inspect import inspect  # most commands do not need it

    return inspect(arguments)


def _add_convert(subparsers: Any) -> None:
    command = _command(
        subparsers,
        "convert",
        conversion.convert,
        "any vocabulary to a cartridge, a directory or another form",
        "Makes a directory that transformers opens: tokenizer.json, tokenizer_config.json and the cartridge\n"
        "tokenizer.dat. What the source is, its content says: a tokenizer.json, a directory of Hugging Face,\n"
        "vocab.json with merges.txt, vocab.txt, a SentencePiece model, a GGUF file, a tekken.json, a tiktoken rank\n"
        "file, a cartridge of CRAYON (.dat) or of ours; or it is the name of a tiktoken encoding.",
    )
    command.add_argument("source", help="a file, a directory, or the name of a tiktoken encoding")
    command.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="a directory; OUT.dat for the cartridge with its OUT.json; OUT.json for the tokenizer.json alone; "
        "OUT.tiktoken for the ranks (default: a directory called after the source, in the current directory)",
    )
    command.add_argument(
        "--to",
        choices=list(conversion.FORMS),
        help="one file of this form instead; v2 is CRAYON's own .dat, with the .json of its strings",
    )
    command.add_argument("--progress", action="store_true", help="say how far it is, even if nobody watches")
    command.add_argument("--pattern", help="rank files: the pattern that splits text")
    command.add_argument("--name", help="rank files: the encoding whose pattern and special tokens are used")
    command.add_argument(
        "--special",
        action="append",
        type=_special_token,
        metavar="TOKEN=ID",
        help="rank files: a special token and its id; may be repeated",
    )


def _add_train(subparsers: Any) -> None:
    command = _command(
        subparsers,
        "train",
        _train,
        "files to a tokenizer",
        "Trains a tokenizer and writes a tokenizer.json and its cartridge. Text files give their lines, each with\n"
        "its ending; .jsonl, .parquet and .arrow the strings of a column; .gz, .bz2, .xz and .zst are unpacked on\n"
        "the way. BPE is trained natively, with the merges of the tokenizers library's BpeTrainer; other models by\n"
        "that library.",
    )
    command.add_argument("file", nargs="+", metavar="FILE", help='a file, a pattern ("**/*.txt"), or "-" alone')
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="a directory, or OUT.json or OUT.dat for these two files alone",
    )
    command.add_argument(
        "--model",
        choices=("bpe", "unigram", "wordpiece", "wordlevel"),
        default="bpe",
        help="default: %(default)s, over bytes",
    )
    command.add_argument("--vocab-size", type=_number, metavar="N", help="ids in all (default: the trainer's)")
    command.add_argument(
        "--min-frequency", type=_number, metavar="N", help="pairs or words that are rarer do not count"
    )
    command.add_argument(
        "--special-token", action="append", metavar="TOKEN", help="a token that text never becomes; may be repeated"
    )
    command.add_argument("--limit-alphabet", type=_number, metavar="N", help="the most frequent characters alone")
    command.add_argument("--max-token-length", type=_number, metavar="N", help="characters of a token, at most")
    command.add_argument(
        "--no-byte-alphabet", action="store_true", help="only bytes that occur: some texts cannot be encoded then"
    )
    how = command.add_mutually_exclusive_group()
    how.add_argument("--pattern", metavar="NAME", help="the published pattern that cuts text (default: llama3)")
    how.add_argument("--regex", metavar="REGEX", help="a pattern of one's own")
    how.add_argument(
        "-t",
        "--tokenizer",
        metavar="NAME_OR_PATH",
        help="a tokenizer whose components and special tokens are taken over",
    )
    command.add_argument("--column", default="text", metavar="NAME", help="where the text is (default: %(default)s)")
    command.add_argument("--format", choices=("text", "jsonl", "parquet", "arrow"), help="whatever the names say")
    command.add_argument("--threads", type=_number, metavar="N", help="default: one for each core")
    command.add_argument("--progress", action="store_true", help="say how far it is, even if nobody watches")


def _train(arguments: argparse.Namespace) -> int:
    from crayon_hf.cli.training import train  # most commands do not need it

    return train(arguments)


def _add_tokenize(subparsers: Any) -> None:
    command = _command(
        subparsers,
        "tokenize",
        _tokenize,
        "a corpus to token files",
        "Writes the token ids of files of text into a directory, as the tool that is to read them writes them.\n"
        "Text, JSON lines, parquet and Arrow, packed or not, by path, directory, pattern or address of fsspec.\n"
        "Killed at any moment, the same command goes on, to the same bytes. The exit status is 0 when all is done,\n"
        "1 when something is not (a bad record, a file, the disk, a worker), 2 for wrong usage, 128 + the signal.",
    )
    command.add_argument("input", nargs="+", metavar="INPUT", help="a file, a directory, a pattern, an address")
    command.add_argument("-o", "--output", required=True, metavar="OUT", help="a directory: new, empty, or this job's")
    command.add_argument(
        "-t",
        "--tokenizer",
        required=True,
        metavar="NAME_OR_PATH",
        help="a profile name, a tiktoken encoding, or the path of a vocabulary of any kind",
    )
    command.add_argument(
        "--format",
        choices=("megatron", "datatrove", "npy", "bin", "parquet", "arrow", "mds"),
        default="megatron",
        help="what is written (default: %(default)s)",
    )
    command.add_argument(
        "--input-format", choices=("text", "jsonl", "parquet", "arrow"), help="(default: what the names' endings say)"
    )
    text = command.add_mutually_exclusive_group()
    text.add_argument("--column", default="text", metavar="C", help="the column with the text (default: %(default)s)")
    text.add_argument("--template", metavar="T", help="the text of several columns: '{title}\\n{text}'")
    command.add_argument(
        "--separator",
        metavar="S",
        help="between the documents of a text file (\\n, \\t, \\0); without it a file is one",
    )
    command.add_argument("--append-eos", action="store_true", help="the end-of-text token after each document")
    command.add_argument("--eos", metavar="TOKEN", help="which token that is, where it is not known; appends it")
    command.add_argument(
        "--add-special-tokens", action="store_true", help="those that the tokenizer puts around a text"
    )
    command.add_argument("--shuffle", action="store_true", help="files, and the documents of those that go together")
    command.add_argument("--seed", type=_number, default=0, metavar="N", help="of the shuffle (default: %(default)s)")
    command.add_argument(
        "--max-tokens-per-shard", type=_number, metavar="N", help="begin a new file before there are more"
    )
    command.add_argument(
        "--bad-records",
        choices=("stop", "skip", "replace"),
        default="stop",
        help="what to do about them; they are counted and listed (default: %(default)s)",
    )
    command.add_argument(
        "--workers", type=_number, metavar="N", help="processes (default: half the cores; for packed files all)"
    )
    command.add_argument("--threads", type=_number, metavar="N", help="of each worker (default: cores / workers)")
    command.add_argument(
        "--batch-bytes", type=_size, default=16 << 20, metavar="SIZE", help="of text at a time (default: 16M)"
    )
    command.add_argument(
        "--max-document-bytes", type=_size, default=256 << 20, metavar="SIZE", help="bad if longer (default: 256M)"
    )
    command.add_argument(
        "--group-bytes", type=_size, default=64 << 20, metavar="SIZE", help="small files go together (default: 64M)"
    )
    command.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    command.add_argument("--overwrite", action="store_true", help="begin anew; removes what another job wrote there")
    command.add_argument("--quiet", action="store_true", help="no progress and no summary")


def _tokenize(arguments: argparse.Namespace) -> int:
    from crayon_hf.cli.tokenize import tokenize  # most commands do not need it

    return tokenize(arguments)


def _add_pull(subparsers: Any) -> None:
    command = _command(
        subparsers,
        "pull",
        _pull,
        "a repository on the Hub to a profile",
        "Makes a profile of a repository: of its cartridge, if that is whole and says what its tokenizer.json says;\n"
        "else it is compiled here. The token, the cache and offline mode are those of huggingface_hub (HF_TOKEN,\n"
        "HF_HOME, HF_HUB_OFFLINE). The profile is stored in the first entry of CRAYON_PROFILE_DIR, else in\n"
        "~/.cache/xerv/crayon/profiles.",
    )
    command.add_argument("repo", metavar="REPO[@REVISION]", help="user/name; a branch, a tag or a commit after the @")
    command.add_argument("--name", help="what the profile is called (default: as the repository)")
    command.add_argument("--token", help="a token of the Hub (default: the one that huggingface_hub finds)")
    command.add_argument("--directory", metavar="DIR", help="another directory of profiles")
    command.add_argument("--force", action="store_true", help="replace a profile of that name from elsewhere")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _pull(arguments: argparse.Namespace) -> int:
    from crayon_hf.cli.hub import pull  # most commands do not need it

    return pull(arguments)


def _add_publish(subparsers: Any) -> None:
    command = _command(
        subparsers,
        "publish",
        _publish,
        "a tokenizer to a repository on the Hub",
        "Puts a tokenizer, its cartridge, a model card and its parity report into a repository, in one commit. The\n"
        "repository is made if there is none. The token is that of huggingface_hub (HF_TOKEN, or hf auth login).",
    )
    command.add_argument("repo", metavar="REPO", help="user/name")
    command.add_argument(
        "--from",
        dest="source",
        metavar="SOURCE",
        help="a directory, or whatever convert takes, or the name of a profile",
    )
    command.add_argument("--report", metavar="FILE", help="the parity.json that crayon-hf parity wrote")
    command.add_argument("--no-speed", action="store_true", help="leave speed out of the report that is made")
    command.add_argument("--private", action="store_true", default=None, help="if the repository is made")
    command.add_argument("--revision", metavar="BRANCH", help="the branch that is committed to (default: main)")
    command.add_argument("--create-pr", action="store_true", help="open a pull request instead")
    command.add_argument("--message", help="of the commit")
    command.add_argument("--license", metavar="ID", help="of the tokenizer (default: what its source says)")
    command.add_argument("--base-tokenizer", metavar="REPO", help="the repository that the tokenizer is from")
    command.add_argument("--token", help="a token of the Hub that may write (default: the one that is found)")
    command.add_argument("--dry-run", metavar="DIR", help="write all files into a directory, and nothing to the Hub")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _publish(arguments: argparse.Namespace) -> int:
    from crayon_hf.cli.publish import publish  # most commands do not need it

    return publish(arguments)


def _add_info(subparsers: Any) -> None:
    command = _command(
        subparsers,
        "info",
        commands.info,
        "what a tokenizer is",
        "Prints the facts of a tokenizer: its engine, its vocabulary and the sections of its cartridge.",
    )
    _add_tokenizer(command)
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _add_measured(command: argparse.ArgumentParser) -> None:
    command.add_argument("text", nargs="*", metavar="FILE", help="a UTF-8 text (.xz is unpacked)")
    _add_tokenizer(command)


def _add_bench(subparsers: Any) -> None:
    command = _command(
        subparsers,
        "bench",
        measuring.bench,
        "how fast it is here",
        "Measures speed and memory beside the engines that are installed, after a check of their ids.\n"
        "Without a text it takes the shared corpus if CRAYON_SHARED names one, else the sources of Python's library.",
    )
    _add_measured(command)
    add_options(command)


def _add_parity(subparsers: Any) -> None:
    command = _command(
        subparsers,
        "parity",
        measuring.parity,
        "is it the same as the reference",
        "Compares ours with a reference, every field of every result, on generated strings and on texts, and times\n"
        "both. The exit status is 0 when everything agrees, 1 when something differs or cannot be compared, 2 when\n"
        "the question makes no sense. TARGET is whatever convert takes: a file, a directory, a cartridge (.dat), a\n"
        "tiktoken encoding; or a profile, a name below $CRAYON_SHARED/vocab, a repository of the Hub (user/name).\n"
        "Without --text it takes the shared corpus if CRAYON_SHARED names one, else the sources of Python's library.\n"
        "With --greedy: how often longest match gives the exact ids, and how fast.",
    )
    command.add_argument("target", nargs="?", default="lite", metavar="TARGET", help="default: the profile %(default)s")
    command.add_argument(
        "--against",
        default="",
        metavar="REFERENCE",
        help="tokenizers (whatever becomes a tokenizer.json), tiktoken (rank files and encodings), transformers "
        "(directories) or sentencepiece (.model); default: the target's own",
    )
    command.add_argument(
        "--text",
        action="append",
        default=[],
        metavar="FILE",
        help="compare on this, too: a UTF-8 text (.xz is unpacked), or a directory of them; may be repeated",
    )
    command.add_argument("--megabytes", type=float, metavar="MB", help="at most so much of each text")
    command.add_argument(
        "--strings", type=_number, default=10_000, metavar="N", help="generated (default: %(default)s)"
    )
    command.add_argument(
        "--tokens", type=_number, metavar="N", help="of the vocabulary's own tokens (default: a fifth of --strings)"
    )
    command.add_argument("--seed", type=_number, default=1, metavar="N", help="of both (default: %(default)s)")
    command.add_argument("--cpu", default="", metavar="NAME", help="an instruction set (default: the best one)")
    command.add_argument("--no-speed", action="store_true", help="compare only")
    command.add_argument("--rounds", type=_number, metavar="N", help="of timing (default: 3; with --greedy 5)")
    command.add_argument("--json", metavar="FILE", help='the report as JSON; "-" is the standard output')
    command.add_argument("--markdown", metavar="FILE", help="the report as Markdown")
    command.add_argument("--html", metavar="FILE", help="the report as one page that needs no network")
    command.add_argument("--output", metavar="DIR", help="all three: parity.json, parity.md and parity.html")
    command.add_argument(
        "--certify",
        action="store_true",
        help="write the certificate into the cartridge: TARGET is a .dat, or a directory with a tokenizer.dat",
    )
    command.add_argument("--greedy", action="store_true", help="longest match beside merging: lines, tokens, speed")
    command.add_argument(
        "--beside",
        default=measuring.BESIDE[0],
        metavar="LIST",
        help="with --greedy: who is timed besides us: tokenizers, llama.cpp (a .gguf; needs llama-cpp-python)",
    )
    command.add_argument("--ours", default="", help=argparse.SUPPRESS)  # a stand-in, for the tests


def _special_token(text: str) -> tuple[str, int]:
    token, separator, id = text.rpartition("=")
    if not separator or not token or not id.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not TOKEN=ID")
    return token, int(id)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)


def _size(text: str) -> int:
    number, factor = (
        (text[:-1], 1 << (10, 20, 30)["KMG".index(text[-1].upper())])
        if text[-1:].upper() in ("K", "M", "G")
        else (text, 1)
    )
    return _number(number) * factor
