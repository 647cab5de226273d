"""Small tokenizer.json documents whose model works on text instead of bytes, trained here or handmade, one for each
kind of text tables in a cartridge."""

from __future__ import annotations

import json
from functools import cache

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tests.conftest import SENTENCES
from tests.support import families

TEXT = [*SENTENCES * 5, " ".join(SENTENCES).upper(), "a  b\t\tc   d\n\n"]


def _llama_like() -> Tokenizer:
    """BPE on characters with byte_fallback, the space as an ordinary character, no pre-tokenizer."""
    spaces = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    # Rare characters have no token, and become bytes.
    tokenizer = families.llama(TEXT, 700, ["<unk>", "<s>", "</s>"], spaces, None, limit_alphabet=200)
    tokenizer.add_tokens([AddedToken("crayon box", normalized=True), AddedToken("<r>", rstrip=True, normalized=False)])
    tokenizer.post_processor = families.template(tokenizer, "<s> $A", "<s> $A <s>:1 $B:1")
    return tokenizer


def _some_bytes() -> Tokenizer:
    """byte_fallback with tokens for only some bytes; one of these tokens is part of a merge."""
    document = json.loads(_llama_like().to_str())
    vocab: dict[str, int] = document["model"]["vocab"]
    for byte in range(0xE0, 0xEA):
        del vocab[f"<0x{byte:02X}>"]
    vocab["<0x41>a"] = max(vocab.values()) + 100
    document["model"]["merges"].insert(0, ["<0x41>", "a"])
    document["added_tokens"] = []
    return Tokenizer.from_str(json.dumps(document))


def _affixes() -> Tokenizer:
    """BPE with a prefix inside words and a suffix at their end."""
    affixes = {"continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"}
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", **affixes))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    families.trained(tokenizer, TEXT, trainers.BpeTrainer, 600, ["[UNK]"], **affixes)
    tokenizer.decoder = decoders.BPEDecoder()
    return tokenizer


def _no_merges() -> Tokenizer:
    """BPE of single characters, with holes in the ids."""
    tokenizer = Tokenizer(models.BPE({"<unk>": 0, "a": 1, "b": 2, "\u00e9": 40}, [], unk_token="<unk>"))
    tokenizer.add_tokens(["ab", AddedToken("\u2003x ", single_word=True)])
    return tokenizer


def _bert_like() -> Tokenizer:
    """WordPiece with BERT's components."""
    tokenizer = families.word_piece(TEXT, 700, families.BERT_TOKENS)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_tokens(["Crayon", AddedToken("BOX", normalized=False)])
    return tokenizer


def _t5_like() -> Tokenizer:
    """Unigram with NFKC and Metaspace."""
    tokenizer = families.unigram(TEXT, 400, ["<pad>", "</s>", "<unk>"], normalizers.NFKC())
    tokenizer.post_processor = families.template(tokenizer, "$A </s>", "$A </s> $B </s>")
    return tokenizer


def _odd_unigram() -> Tokenizer:
    """A handmade Unigram: a repeated token, the empty token twice, byte tokens, equal and infinite scores."""
    pieces = [("<unk>", 0.0), ("a", -1.5), ("b", -1.5), ("ab", -3.0), ("a", -0.5), ("", -9.0), ("\u00e9b", -2.25)]
    pieces += [("", -8.0), (" ", -1.0), ("the", -1e300), *((f"<0x{byte:02X}>", -7.0) for byte in range(256))]
    return Tokenizer(models.Unigram(pieces, 0, True))


def _word_level() -> Tokenizer:
    normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.StripAccents()])
    tokenizer = families.word_level(TEXT, ["[UNK]", "[PAD]"], normalizer, "[UNK]")
    tokenizer.add_tokens([AddedToken("\u00c9T\u00c9", normalized=True)])
    return tokenizer


_MAKERS = {
    "llama_like": _llama_like,
    "some_bytes": _some_bytes,
    "affixes": _affixes,
    "no_merges": _no_merges,
    "bert_like": _bert_like,
    "t5_like": _t5_like,
    "odd_unigram": _odd_unigram,
    "word_level": _word_level,
}
NAMES = tuple(_MAKERS)


@cache
def text_source(name: str) -> bytes:
    """The bytes of the document with this name, which is one of NAMES."""
    text: str = _MAKERS[name]().to_str()
    return text.encode()
