"""A SentencePiece model to a cartridge.

The model's type is BPE, Unigram or char. The ids are those of the sentencepiece library; docs/sources.md lists the
differences.

    $ python -m conversion.sentencepiece tokenizer.model -o llama
    read tokenizer.model: sha256 ...
    wrote llama/tokenizer.json
    wrote llama/tokenizer_config.json
    wrote llama/tokenizer.dat: ... ids, sha256 ...
"""

from __future__ import annotations

from conversion import script
from crayon_hf.formats.recognise import Kind

main = script.of_file(
    "sentencepiece", __doc__, Kind.SENTENCEPIECE, "a SentencePiece model, often called tokenizer.model"
)


if __name__ == "__main__":
    script.run("sentencepiece", main)
