"""A GGUF file to a cartridge.

Only the metadata is converted, never the weights. The ids are those of llama_tokenize, which finds special tokens in
the text.

    $ python -m conversion.gguf model.gguf -o model
    read model.gguf: sha256 ...
    wrote model/tokenizer.json
    wrote model/tokenizer_config.json
    wrote model/tokenizer.dat: ... ids, sha256 ...
"""

from __future__ import annotations

from conversion import script
from crayon_hf.formats.recognise import Kind

main = script.of_file("gguf", __doc__, Kind.GGUF, "a GGUF file")


if __name__ == "__main__":
    script.run("gguf", main)
