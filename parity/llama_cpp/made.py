"""Random GGUF files, and texts for them, by seed: every supported model, every type of token, every option."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from crayon_hf.formats.gguf_patterns import PRE_TOKENIZERS
from crayon_hf.formats.protobuf import Message

from .plain import (
    BYTE,
    BYTE_LETTERS,
    CONTROL,
    NORMAL,
    OVER_TEXT,
    SPACE,
    UNDEFINED,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Vocabulary,
)

MODELS = ("llama", "gpt2", "gemma4", "bert", "t5")
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
LETTERS = "abcdeABxyz0149<>[]|/_.,'!-\u00e9\u0434\u65e5\u672c\ufb01\U0001f642"
SPECIALS = (
    *("<|im_end|>", "<|message|>", "<|fim_prefix|>", "<eos>"),  # llama.cpp knows these by their texts
    *("<tool>", "[X]", "(\u00e9)", "\u65e5\u65e5", "<mask>", "ab#"),
)
RULES = ("", "", "", "nfkc", "nmt_nfkc_cf")


def made(model: str, seed: int) -> Vocabulary:
    """Return the random vocabulary of this model for a seed."""
    random = Random(f"{model}/{seed}")
    return {"llama": _llama, "gpt2": _gpt2, "gemma4": _over_text, "bert": _bert, "t5": _t5}[model](random)


def write(vocabulary: Vocabulary, path: Path) -> Path:
    """Write the vocabulary as a GGUF file without tensors, with the ``gguf`` package. Return the path."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(vocabulary.model)
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    if vocabulary.scores:
        writer.add_token_scores(vocabulary.scores)
    if vocabulary.model in ("gpt2", "gemma4"):
        writer.add_token_merges([f"{left} {right}" for left, right in vocabulary.merges])
    if vocabulary.charsmap:
        writer.add_precompiled_charsmap(vocabulary.charsmap)
    if vocabulary.name:
        writer.add_name(vocabulary.name)
    for key, value in vocabulary.keys.items():
        name = f"tokenizer.ggml.{key}"
        if isinstance(value, bool):
            writer.add_bool(name, value)
        elif isinstance(value, int):
            writer.add_uint32(name, value)
        else:
            writer.add_string(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def texts_for(vocabulary: Vocabulary, count: int, seed: int) -> list[str]:
    """Return random texts, made of a vocabulary's own tokens, of letters, spaces and line breaks, and of spellings."""
    random = Random(f"texts/{seed}")
    own = [text.replace(SPACE, " ") for text in vocabulary.tokens if not text.startswith("<0x")]
    if vocabulary.model == "gpt2" and vocabulary.keys.get("pre") not in OVER_TEXT:
        own = [_read_back(text) for text in vocabulary.tokens]
    parts = [
        *LETTERS,
        " ",
        " ",
        "  ",
        "   ",
        "\n",
        "\n\n",
        "\t",
        SPACE,
        "it's",
        "e\u0301",
        "<0x41>",
        "<unk>",
        "[PAD7]",
        "12345",
    ]
    texts = ["", " ", "\n"]
    while len(texts) < count:
        pool = own if random.random() < 0.6 else parts
        size = random.choice((1, 2, 3, 5, 9, 14))
        texts.append("".join(random.choice(pool if random.random() < 0.7 else parts) for _ in range(size)))
    return texts


def _read_back(spelled: str) -> str:
    if all(char in BYTE_LETTERS for char in spelled):
        return bytes(map(BYTE_LETTERS.index, spelled)).decode(errors="ignore")
    return spelled


# -- one function for each model


def _llama(random: Random) -> Vocabulary:
    pieces = _pieces(random, random.randrange(5, 120))
    kinds = {piece: random.choices((NORMAL, UNUSED, UNDEFINED), (20, 1, 1))[0] for piece in pieces}
    kinds |= _specials(random, {SPACE * 4: USER_DEFINED, "  ": USER_DEFINED, "\n\n": USER_DEFINED})
    first = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL}
    if random.random() < 0.15:  # for this name, llama.cpp lets special tokens absorb white space
        kinds = {text: kind for text, kind in kinds.items() if text.strip(SPACE + " \n") or kind != USER_DEFINED}
        kinds |= {"<|endoftext|>": CONTROL, "<|user|>": CONTROL}
        made = _ordered(random, "llama", first, kinds, _scores(random, len(kinds)), ("add_space_prefix",))
        return replace(made, name="Phi-3 mini")
    return _ordered(random, "llama", first, kinds, _scores(random, len(kinds)), ("add_space_prefix",))


def _t5(random: Random) -> Vocabulary:
    pieces = _pieces(random, random.randrange(3, 120))
    kinds = {piece: random.choices((NORMAL, UNUSED), (20, 1))[0] for piece in pieces}
    kinds |= {f"[PAD{i}]": UNUSED for i in range(random.choice((0, 9)))}
    kinds |= _specials(random, {SPACE * 2: USER_DEFINED})
    if random.random() < 0.2:
        kinds[random.choice(LETTERS)] = random.choice((CONTROL, UNDEFINED))
    first = {"<pad>": CONTROL, "</s>": random.choices((CONTROL, NORMAL), (5, 1))[0], "<unk>": UNKNOWN}
    scores = _scores(random, len(kinds))
    scores = [-1e4 if text.startswith("[PAD") else score for text, score in zip(kinds, scores, strict=True)]
    made = _ordered(random, "t5", first, kinds, scores, ("add_space_prefix", "remove_extra_whitespaces"))
    charsmap, rules = _charsmap(random.choice(RULES))
    return replace(made, charsmap=charsmap, rules=rules)


def _ordered(
    random: Random, model: str, first: dict[str, int], kinds: dict[str, int], scores: list[float], flags: Sequence[str]
) -> Vocabulary:
    """Return a vocabulary with its tokens in order: the tokens of `first`, the bytes, then the others.

    Sometimes the order is random.
    """
    scored = {text: (kind, score) for (text, kind), score in zip(kinds.items(), scores, strict=True)}
    bytes_ = BYTE_TOKENS if model == "llama" or random.random() < 0.5 else []
    entries = {text: (kind, 0.0) for text, kind in first.items()} | dict.fromkeys(bytes_, (BYTE, 0.0)) | scored
    names = list(entries)
    keys: dict[str, Any] = {}
    if random.random() < 0.3:
        random.shuffle(names)
        roles = zip(
            ("unknown", "bos", "eos") if model == "llama" else ("padding", "eos", "unknown"), first, strict=True
        )
        keys = {f"{role}_token_id": names.index(text) for role, text in roles}
    if model == "t5" and random.random() < 0.3:
        keys |= {"bos_token_id": names.index("<pad>"), "add_bos_token": random.random() < 0.7}
    optional = ["add_eos_token", *flags, *(["add_bos_token"] if model == "llama" else [])]
    keys |= {flag: random.random() < 0.5 for flag in optional if random.random() < 0.6}
    types, given = zip(*(entries[name] for name in names), strict=True)
    return Vocabulary(model, names, list(types), list(given), keys=keys)


def _gpt2(random: Random) -> Vocabulary:
    letters = [letter for letter in BYTE_LETTERS if random.random() < 0.999]
    random.shuffle(letters)
    start = ["".join(BYTE_LETTERS[byte] for byte in char.encode()) for char in [*LETTERS, " ", "\n"]]
    merges = _merges(random, letters, start, random.randrange(0, 150))
    kinds = dict.fromkeys(letters, NORMAL) | {left + right: NORMAL for left, right in merges}
    kinds |= {word: NORMAL for word in ("abc", "\u0120ab", "x1") if random.random() < 0.2}
    kinds |= {text: random.choices((NORMAL, UNUSED, UNDEFINED), (20, 1, 1))[0] for text in kinds}
    kinds |= _specials(random, {"  ": USER_DEFINED, "\n\n": USER_DEFINED}, ascii_only=True)
    names = sorted(kinds, key=lambda text: random.random()) if random.random() < 0.3 else list(kinds)
    pre = random.choice(sorted(PRE_TOKENIZERS.keys() - OVER_TEXT))
    keys: dict[str, Any] = {} if pre == "default" and random.random() < 0.5 else {"pre": pre}
    keys |= _frame_keys(random, names)
    return Vocabulary("gpt2", names, [kinds[name] for name in names], merges=merges, keys=keys)


def _over_text(random: Random) -> Vocabulary:
    pre = random.choice(sorted(OVER_TEXT))
    letters = sorted({*random.sample(LETTERS, random.randrange(4, len(LETTERS))), SPACE})
    merges = _merges(random, letters, [*letters, SPACE], random.randrange(1, 100))
    kinds = {"<pad>": CONTROL, "<bos>": CONTROL, "<unk>": UNKNOWN} | dict.fromkeys(BYTE_TOKENS, BYTE)
    kinds |= dict.fromkeys((*letters, *(left + right for left, right in merges)), NORMAL)
    kinds |= {text: NORMAL for text in ("\n", "\n\n", "\n\n\n") if random.random() < 0.5}
    kinds |= _specials(random, {"  ": USER_DEFINED})
    names = list(kinds)
    keys = {"pre": pre, "bos_token_id": 1, "unknown_token_id": 2} | _frame_keys(random, names)
    model = "gemma4" if pre == "gemma4" and random.random() < 0.5 else "gpt2"
    return Vocabulary(model, names, [kinds[name] for name in names], merges=merges, keys=keys)


def _bert(random: Random) -> Vocabulary:
    words = _pieces(random, random.randrange(5, 120), letters=[char for char in LETTERS if char != "\ufb01"])
    words = [word for word in (word.replace(SPACE, "") for word in words) if word]
    words = [SPACE + word if random.random() < 0.5 else word for word in words]
    kinds = {text: random.choices((NORMAL, UNUSED), (20, 1))[0] for text in words}
    kinds |= {"[unused1]": random.choice((NORMAL, UNUSED))}
    first = {"[PAD]": CONTROL, "[UNK]": random.choice((CONTROL, UNKNOWN, NORMAL)), "[CLS]": CONTROL, "[SEP]": CONTROL}
    kinds = first | _specials(random, {}, bracketed=True) | kinds
    names = list(kinds)
    keys: dict[str, Any] = {"padding_token_id": 0, "unknown_token_id": 1, "bos_token_id": 2, "seperator_token_id": 3}
    options = ("normalizer.lowercase", "normalizer.strip_accents", "add_eos_token", "add_bos_token")
    keys |= {key: random.random() < 0.5 for key in options if random.random() < 0.4}
    return Vocabulary("bert", names, [kinds[name] for name in names], keys=keys)


# -- their parts


def _pieces(random: Random, count: int, letters: Sequence[str] = LETTERS) -> list[str]:
    """Return random pieces: single characters, and pieces that are joined from two others."""
    pieces = random.sample(letters, random.randrange(3, len(letters)))
    pieces += [SPACE] if random.random() < 0.9 else []
    for _ in range(count):
        made = random.choice(pieces) + random.choice(pieces)
        made = SPACE + made if random.random() < 0.2 and SPACE in pieces else made
        if len(made) <= 8 and not made.endswith("#"):
            pieces.append(made)
    return list(dict.fromkeys(pieces))


def _merges(random: Random, letters: Sequence[str], start: Sequence[str], count: int) -> list[tuple[str, str]]:
    known, merges, pool = set(letters), [], [text for text in start if text in letters]
    for text in start:  # merges make a character of several bytes from its bytes
        for at in range(1, len(text)):
            if {text[:at], text[at]} <= known and random.random() < 0.8:
                merges.append((text[:at], text[at]))
                known.add(text[: at + 1])
                pool.append(text[: at + 1])
    for _ in range(count):
        pair = random.choice(pool), random.choice(pool)
        if len("".join(pair)) <= 12:
            merges.append(pair)
            known.add("".join(pair))
            pool.append("".join(pair))
    if random.random() < 0.3:
        random.shuffle(merges)
    return list(dict.fromkeys(merges))


def _specials(
    random: Random, more: dict[str, int], *, ascii_only: bool = False, bracketed: bool = False
) -> dict[str, int]:
    texts = [text for text in SPECIALS if random.random() < 0.35]
    if ascii_only:
        texts = [text for text in texts if text.isascii()]
    if bracketed:
        texts = [text for text in texts if not text[0].isalnum()]
    kinds = {text: random.choice((CONTROL, USER_DEFINED, USER_DEFINED, UNKNOWN)) for text in texts}
    return kinds | {text: kind for text, kind in more.items() if random.random() < 0.2}


def _scores(random: Random, count: int) -> list[float]:
    """Return random scores. Sometimes they have few values, so that several ways to cut a text are equally good."""
    if random.random() < 0.15:
        return [-random.randrange(1, 12) / 2 for _ in range(count)]
    return [float(-random.randrange(1, 1 << 18)) / (1 << 14) for _ in range(count)]


def _frame_keys(random: Random, names: Sequence[str]) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    if random.random() < 0.4:
        keys["bos_token_id"] = random.randrange(len(names))
    if random.random() < 0.4:
        keys["eos_token_id"] = random.randrange(len(names))
    for flag, role in (("add_bos_token", "bos"), ("add_eos_token", "eos")):
        if random.random() < 0.5:
            keys[flag] = f"{role}_token_id" in keys and random.random() < 0.6
    if "<|fim_prefix|>" in names and random.random() < 0.5:
        keys["fim_pre_token_id"] = random.randrange(len(names))
    return keys


@cache
def _charsmap(name: str) -> tuple[bytes, Callable[[str], str]]:
    """Return SentencePiece's normalization rules of that name as bytes, and a function that applies them to a text."""
    if not name:
        return b"", str
    import sentencepiece

    normalizer = sentencepiece.SentencePieceNormalizer(
        rule_name=name, add_dummy_prefix=False, escape_whitespaces=False, remove_extra_whitespaces=False
    )
    message = Message(normalizer.serialized_model_proto())
    (spec,) = (message.message(one) for one in message if one.number == 3)
    (charsmap,) = (spec.bytes(one) for one in spec if one.number == 2)
    return charsmap, normalizer.normalize
