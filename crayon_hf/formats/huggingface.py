"""Files of Hugging Face repositories: ``tokenizer.json`` and the older formats.

``vocab.json`` with ``merges.txt``, and ``vocab.txt``, have only the model. The other components follow from the class
of transformers (`transformers_classes`) and the files beside the vocabulary (`special_tokens`).
"""

from __future__ import annotations

from itertools import count, repeat

from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.sidecar_files import NOTHING, Beside
from crayon_hf.tokenizer_json.parts import parsed
from crayon_hf.util.reference import need_components

_MOST_IDS = 1 << 24
_TRIMMED = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""Characters that ``tokenizers`` strips from the end of a line of vocab.txt: Unicode's white space, not Python's."""


def read_tokenizer_json(data: bytes, beside: Beside = NOTHING) -> Converted:
    """Return a ``tokenizer.json`` unchanged, with its config."""
    config = dict(beside.config)
    if beside.special_tokens_map and "added_tokens_decoder" not in config:
        from crayon_hf.formats.special_tokens import special_tokens

        config |= special_tokens(beside, {}).as_config()  # special_tokens_map.json has the names
    return Converted(data, config, "tokenizers")


def read_vocab_and_merges(vocab: bytes, merges: bytes, beside: Beside = NOTHING) -> Converted:
    """Read ``vocab.json`` and ``merges.txt`` as the transformers class that a file beside them names.

    If no file names a class, it is GPT2Tokenizer.
    """
    need_components("reading vocab.json and merges.txt")
    from crayon_hf.formats.transformers_classes import byte_level

    ids, pairs = _read_vocab(vocab), _read_merges(merges)
    for left, right in pairs:
        if missing := next((token for token in (left, right, left + right) if token not in ids), None):
            raise VocabularyError(f"merges.txt merges {left!r} and {right!r}, but vocab.json has no {missing!r}")
    return byte_level(ids, pairs, beside)


def read_wordpiece(vocab: bytes, beside: Beside = NOTHING, do_lower_case: bool | None = None) -> Converted:
    """Read ``vocab.txt`` as BertTokenizer does: in lower case, unless `do_lower_case` or else the config says no."""
    need_components("reading vocab.txt")
    from crayon_hf.formats.transformers_classes import wordpiece

    if do_lower_case is not None:
        beside = beside._replace(config={**beside.config, "do_lower_case": do_lower_case})
    tokens = map(str.rstrip, _lines(vocab, "vocab.txt"), repeat(_TRIMMED))
    return wordpiece(dict(zip(tokens, count(), strict=False)), beside)


def _read_vocab(data: bytes) -> dict[str, int]:
    vocab = parsed(data, "vocab.json")
    if not isinstance(vocab, dict) or not all(type(id) is int and 0 <= id < 2**32 for id in vocab.values()):
        raise VocabularyError("vocab.json does not map tokens to ids")
    if vocab and max(vocab.values()) >= _MOST_IDS:
        raise UnsupportedError(
            f"an id of {max(vocab.values())} in vocab.json, too large: tokenizers would go through all ids up to it"
        )
    return vocab


def _read_merges(data: bytes) -> list[tuple[str, str]]:
    merges = []
    for number, line in enumerate(_lines(data, "merges.txt"), 1):
        line = line.removesuffix("\r")
        if line.startswith("#version"):
            continue
        parts = line.split(" ")
        if len(parts) != 2:
            raise VocabularyError(f"line {number} of merges.txt is not two tokens with a space between them")
        merges.append((parts[0], parts[1]))
    return merges


def _lines(data: bytes, name: str) -> list[str]:
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{name} is not UTF-8: byte {error.start}") from error
    if not lines[-1]:
        lines.pop()
    return lines
