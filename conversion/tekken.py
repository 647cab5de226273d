"""Mistral's tekken.json to a cartridge.

The ids are those of mistral_common without tokens at the beginning and end of a text. Special tokens are found in texts
unless `encode_special_tokens` is true.

    $ python -m conversion.tekken tekken.json -o mistral
    read tekken.json: sha256 ...
    wrote mistral/tokenizer.json
    wrote mistral/tokenizer_config.json
    wrote mistral/tokenizer.dat: ... ids, sha256 ...
"""

from __future__ import annotations

from conversion import script
from crayon_hf.formats.recognise import Kind

main = script.of_file("tekken", __doc__, Kind.TEKKEN, "a tekken.json")


if __name__ == "__main__":
    script.run("tekken", main)
