"""A directory of any files, as Hugging Face repositories have them, and each file of it: a typed error or a vocabulary.

The first byte says which names the parts of the input have.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from crayon_hf.formats import convert
from tests.fuzz.edge import mutators
from tests.fuzz.edge.choices import SEPARATOR, Choices, parts_of
from tests.fuzz.edge.judging import converted, directory, dumped, judge_document

LAYOUTS = (  # the vocabulary, and the names in the order of the parts; one that may hold the separator comes last
    (
        "vocab.json",
        ("vocab.json", "merges.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    ),
    (
        "vocab.txt",
        ("vocab.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json"),
    ),
    ("tokenizer.json", ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")),
    ("any", ("any",)),
    ("v.dat", ("v.json", "v.dat")),
    ("tokenizer.model", ("tokenizer_config.json", "config.json", "tokenizer.model")),
    ("gpt2-merges.txt", ("gpt2-vocab.json", "gpt2-merges.txt")),
)


def one_input(data: bytes) -> None:
    choices = Choices(data)
    vocabulary, names = choices.pick(LAYOUTS)
    one_file = choices.flag()
    folder = directory()
    for name, part in zip(names, parts_of(choices.rest(), len(names)), strict=False):
        if part != b"-":  # not there
            (folder / name).write_bytes(part)
    source = folder / vocabulary if one_file and (folder / vocabulary).exists() else folder
    result = converted(convert, source)
    if result is not None:
        dumped(result.config)  # it is a tokenizer_config.json
        judge_document(result.tokenizer_json)


def mutate(data: bytes, rng: Random) -> bytes | None:
    """The files, not the choices."""
    changed = mutators.separated(data[2:], rng)
    return None if changed is None else data[:2] + changed


def seeds() -> Iterator[bytes]:
    """Classes and settings of every kind."""
    from tests.fuzz.edge.small_documents import byte_level_alphabet, small_documents

    tokens = [*byte_level_alphabet(), "he", "ll", "llo", "hello", "\u0120w", "<|endoftext|>"]
    vocab = dumped({token: id for id, token in enumerate(tokens)})
    merges = "#version: 0.2\nh e\nl l\nll o\nhe llo\n\u0120 w\n".encode()
    words = "\n".join(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "he", "##llo", "a", "##b", "\u4f60", "!")).encode()
    added = {
        "content": "<x>",
        "lstrip": True,
        "rstrip": False,
        "normalized": True,
        "single_word": False,
        "special": True,
    }
    configs = (
        {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True, "unk_token": "<|endoftext|>"},
        {"tokenizer_class": "RobertaTokenizer", "bos_token": "<s>", "mask_token": {"__type": "AddedToken", **added}},
        {"tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": {"300": added, "262": added}},
        {"tokenizer_class": "CLIPTokenizer", "model_max_length": 77},
        {"add_bos_token": True, "bos_token": "<|endoftext|>", "additional_special_tokens": ["<y>", added]},
    )
    for config in configs:
        parts = (vocab, merges, dumped(config), dumped({"eos_token": "<z>"}), dumped({"<w>": 400}))
        yield b"\0\0" + SEPARATOR.join(parts)
    for config in (
        {},
        {"do_lower_case": False, "strip_accents": True},
        {"tokenize_chinese_chars": False, "unk_token": "a"},
    ):
        parts = (
            words,
            dumped(config),
            dumped({"cls_token": "[CLS]"}),
            dumped({"<w>": 11}),
            dumped({"model_type": "bert"}),
        )
        yield b"\x01\0" + SEPARATOR.join(parts)
    for document in list(small_documents())[:3]:
        yield b"\x02\0" + SEPARATOR.join((dumped(document), dumped(configs[4]), dumped({"eos_token": "a"}), b"{{x}}"))
        yield b"\x03\x01" + dumped(document)
    yield b"\x06\x01" + SEPARATOR.join((vocab, merges))
