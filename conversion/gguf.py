"""A GGUF file to a cartridge.

Only the metadata is converted, never the weights. The ids are those of llama_tokenize with special tokens found in the
text.

    $ python -m conversion.gguf model.gguf -o model
    read model.gguf: sha256 ...
    wrote model/tokenizer.json
    wrote model/tokenizer_config.json
    wrote model/tokenizer.dat: ... ids, sha256 ...
"""

from __future__ import annotations

from collections.abc import Sequence

from conversion import script
from crayon_hf.formats import convert
from crayon_hf.formats.recognise import Kind


def main(argv: Sequence[str] | None = None) -> None:
    """Convert it. WrongKindError, VocabularyError, UnsupportedError, OSError."""
    options = script.parser("gguf", __doc__, "FILE", "a GGUF file").parse_args(argv)
    source = script.find(options.source, Kind.GGUF)
    script.write(convert(options.source), options.output, source)


if __name__ == "__main__":
    script.run("gguf", main)
