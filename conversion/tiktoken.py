r"""A tiktoken encoding or rank file to a cartridge.

A rank file does not contain its pattern and special tokens. They are known for the published encodings, which are also
found by name, in tiktoken's cache or through tiktoken; give both for other files. The ids are those of tiktoken.

    $ python -m conversion.tiktoken mine.tiktoken -o mine --special '<|end|>=2000' \
        --pattern "'"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+'
    read mine.tiktoken: sha256 ...
    wrote mine/tokenizer.json
    wrote mine/tokenizer_config.json
    wrote mine/tokenizer.dat: ... ids, sha256 ...

    $ python -m conversion.tiktoken cl100k_base -o cl100k_base.dat
    read cl100k_base: sha256 223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7
    wrote cl100k_base.json
    wrote cl100k_base.dat: 100,261 ids, sha256 ...
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from conversion import script
from crayon_hf.cli.conversion import special_token
from crayon_hf.cli.tokenizers import local_name
from crayon_hf.formats import convert
from crayon_hf.formats.names import meaning_of
from crayon_hf.formats.recognise import Kind
from crayon_hf.formats.tiktoken import KNOWN_ENCODINGS, KNOWN_FILES, write_ranks
from crayon_hf.formats.tiktoken_objects import is_encoding_name


def source_of_encoding(name: str) -> script.Source:
    """Return the source of an encoding. Its digest is that of the rank file that tiktoken publishes or would write."""
    if name in KNOWN_ENCODINGS:
        return script.Source(name, (), KNOWN_FILES[KNOWN_ENCODINGS[name].file].sha256)
    import tiktoken  # for an encoding of a plugin

    ranks = write_ranks(tiktoken.get_encoding(name)._mergeable_ranks)
    return script.Source(name, (), hashlib.sha256(ranks).hexdigest())


def main(argv: Sequence[str] | None = None) -> None:
    """Convert the source. Raise WrongKindError, VocabularyError, UnsupportedError, MissingExtraError or OSError."""
    parser = script.parser("tiktoken", __doc__, "NAME_OR_FILE", "the name of an encoding, or a rank file")
    parser.add_argument("--pattern", help="the split pattern of a rank file that is not published")
    parser.add_argument(
        "--special", action="append", default=[], type=special_token, metavar="TOKEN=ID", help="may be repeated"
    )
    options = parser.parse_args(argv)
    given = local_name(options.source)
    meaning = meaning_of(given)
    is_name = meaning.path is None and is_encoding_name(meaning.name)
    source = source_of_encoding(meaning.name) if is_name else script.find(options.source, Kind.TIKTOKEN)
    special_tokens = dict(options.special) or None
    converted = convert(given, pattern=options.pattern, special_tokens=special_tokens)
    script.write(converted, options.output, source)


if __name__ == "__main__":
    script.run("tiktoken", main)
