"""A version 2 cartridge of CRAYON to one of ours.

If a .json of the same name is beside it, the tokens' strings are read from there. The result is a tokenizer.json that
matches the longest token at each position; CRAYON's own ids need `CrayonVocab(compat="xerv")`.

    $ python -m conversion.crayon vocab_lite.dat -o lite.dat
    read vocab_lite.dat and vocab_lite.json: sha256 ...
    wrote lite.json
    wrote lite.dat: ... ids, sha256 ...
"""

from __future__ import annotations

from conversion import script
from crayon_hf.formats.recognise import Kind

main = script.of_file("crayon", __doc__, Kind.CRAYON_V2, "a .dat of CRAYON")


if __name__ == "__main__":
    script.run("crayon", main)
