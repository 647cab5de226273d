"""Components in any combination around any model: ids, offsets, tokens and decoded text are the reference's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from crayon_hf import Tokenizer
from crayon_hf.parity.compare.records import Mode, Outcome, attempt
from parity.components import parts as parts
from parity.components.command import VARIANTS
from parity.components.models import make_model, model_names
from tests.fuzz.edge.choices import Choices, parts_of, text_of
from tests.fuzz.edge.judging import Defect, compare, is_for_the_library, opened, reference_of
from tests.fuzz.edge.mutators import VALUES
from tests.fuzz.edge.small_documents import Document, added, document

SECTIONS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}
CONTENTS = ("wor", "\u00e9", "a", " ", "\u2581", "[X]", "th", "\u4e00", "<0x41>", "1", "aa", "E", "<s>", "\u0120a")
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


@cache
def _catalogue(section: str) -> tuple[tuple[Document, ...], ...]:
    """The parts of a section by kind, so that a kind with many options is not met more often."""
    kinds: dict[str, list[Document]] = {}
    for name, part in getattr(parts, f"{section}s")().items():
        kinds.setdefault(name.partition("(")[0], []).append(part)
    return tuple(tuple(kind) for kind in kinds.values())


def one_input(data: bytes) -> None:
    choices = Choices(data)
    made, changed = made_of(choices)
    mode, width = choices.pick(VARIANTS)
    source = json.dumps(made, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ours, reference = opened(source), reference_of(source)
    if ours is None or isinstance(reference, Outcome):
        refused = isinstance(reference, Outcome)
        if ours is None and is_for_the_library(attempt(Tokenizer.from_buffer, source)):
            return
        if (ours is None) != refused and not (refused and reference.error[0] == "PanicException") and not changed:
            raise Defect(f"one of two refuses it: ours {ours!r}, reference {reference!r}")
        return
    texts = [text_of(part) for part in parts_of(choices.rest(), 4)]
    items = [(text,) if width == 1 else (text, texts[0]) for text in texts]
    compare(ours, reference, items, _with_room(mode, reference, width), fast=width == 1)


def _with_room(mode: Mode, reference: Any, width: int) -> Mode:
    """The mode with a maximum that leaves room for special tokens: the reference panics without."""
    if mode.max_length is None:
        return mode
    from dataclasses import replace

    room = attempt(reference.num_special_tokens_to_add, width == 2)
    return replace(mode, max_length=mode.max_length + (room if isinstance(room, int) else 0))


@cache
def _model(name: str) -> Document:
    """A model, which nobody changes."""
    return make_model(name)


def made_of(choices: Choices) -> tuple[Document, bool]:
    """A document, and whether an option of it has a value that it might not have."""
    model = _model(choices.pick(model_names()))
    sections = {section: _several(choices, section, inside) for section, inside in SECTIONS.items()}
    vocab = model["vocab"]
    ids = vocab if isinstance(vocab, dict) else {name: id for id, (name, _) in enumerate(vocab)}
    size = max(ids.values()) + 1
    tokens = [added(name, ids[name]) for name in ("<unk>", "<s>", "</s>", "[CLS]", "[SEP]", "<pad>", "<mask>")]
    seen = {token["content"] for token in tokens}
    for _ in range(choices.below(4)):
        content, flags = choices.pick(CONTENTS), choices.byte()
        if content not in seen:
            seen.add(content)
            said = {flag: bool(flags >> bit & 1) for bit, flag in enumerate(FLAGS)}
            tokens.append(added(content, ids.get(content, size), **said))
            size += content not in ids
    made = document(model, added_tokens=tokens, **sections)
    changed = choices.below(8) == 7
    if changed:
        _change(made, choices)
    return made, changed


def _several(choices: Choices, section: str, inside: str) -> Document | None:
    members = [choices.pick(choices.pick(_catalogue(section))) for _ in range(choices.below(4))]
    return {"type": "Sequence", inside: members} if len(members) > 1 else members[0] if members else None


def _change(made: Document, choices: Choices) -> None:
    """Put any value into an option of a component."""
    section = choices.pick(list(SECTIONS))
    if made[section] is None:
        return
    part = made[section] = json.loads(json.dumps(made[section]))
    member = choices.pick(part.get(SECTIONS[section]) or [part])
    member[choices.pick(list(member))] = choices.pick(VALUES)


def seeds() -> Iterator[bytes]:
    """Every model with something around it."""
    for model in range(len(model_names())):
        head = bytes(
            [model, model % 3, model * 7 % 11, model, 1 + model % 2, model * 5 % 13, 3, 1, 1, 2, 3, 1, model, 2]
        )
        yield head + "Hello w\u00f6rld it's  \u4e00<s> [X]".encode() + b"\xffaa wor"
