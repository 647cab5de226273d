"""A repository of the Hub, a directory or a tokenizer.json to a cartridge.

A repository is a name (user/name, or user/name@revision) that is not a local path; its tokenizer files are downloaded
once. A directory may have any vocabulary that Hugging Face's libraries open: tokenizer.json, vocab.json with
merges.txt, vocab.txt, tekken.json or a SentencePiece model. The settings beside it are used.

    $ python -m conversion.huggingface openai-community/gpt2 -o gpt2
    read openai-community/gpt2/tokenizer.json: sha256 ...
    wrote gpt2/tokenizer.json
    wrote gpt2/tokenizer_config.json
    wrote gpt2/tokenizer.dat: ... ids, sha256 ...
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from conversion import script
from crayon_hf.cli.tokenizers import local_name
from crayon_hf.formats import convert
from crayon_hf.formats.names import is_repository
from crayon_hf.formats.recognise import Kind
from crayon_hf.util.wording import joined

KINDS = (Kind.DIRECTORY, Kind.TOKENIZER_JSON, Kind.VOCAB_JSON, Kind.MERGES, Kind.WORDPIECE)


def main(argv: Sequence[str] | None = None) -> None:
    """Convert the source. Raise WrongKindError, HubError, VocabularyError, UnsupportedError or OSError."""
    parser = script.parser(
        "huggingface", __doc__, "REPO_OR_DIR", "a repository, a directory, or a file in one, such as tokenizer.json"
    )
    options = parser.parse_args(argv)
    path = local_name(options.source)  # for a repository, the directory of its files
    source = script.find(path, *KINDS)
    if is_repository(options.source):
        source = source._replace(name=joined([f"{options.source}/{os.path.basename(file)}" for file in source.files]))
    script.write(convert(path), options.output, source)


if __name__ == "__main__":
    script.run("huggingface", main)
