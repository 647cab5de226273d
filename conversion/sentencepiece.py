"""A SentencePiece model to a cartridge.

The model is of the kind BPE, Unigram or char. The ids are those of the sentencepiece library; docs/sources.md says what
differs.

    $ python -m conversion.sentencepiece tokenizer.model -o llama
    read tokenizer.model: sha256 ...
    wrote llama/tokenizer.json
    wrote llama/tokenizer_config.json
    wrote llama/tokenizer.dat: ... ids, sha256 ...
"""

from __future__ import annotations

from collections.abc import Sequence

from conversion import script
from crayon_hf.formats import convert
from crayon_hf.formats.recognise import Kind


def main(argv: Sequence[str] | None = None) -> None:
    """Convert it. WrongKindError, VocabularyError, UnsupportedError, OSError."""
    options = script.parser(
        "sentencepiece", __doc__, "FILE", "a SentencePiece model, often called tokenizer.model"
    ).parse_args(argv)
    source = script.find(options.source, Kind.SENTENCEPIECE)
    script.write(convert(options.source), options.output, source)


if __name__ == "__main__":
    script.run("sentencepiece", main)
