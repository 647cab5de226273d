"""Any text as a model card: its metadata is read or refused, and what is added changes nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crayon_hf.hub import front_matter
from tests.fuzz.edge.choices import Choices, text_of
from tests.fuzz.edge.judging import Defect, converted

_MISSING: tuple[dict[str, Any], ...] = (
    {},
    {"library_name": "crayon-hf", "license": None},
    {"base_model": ["a/b"], "language": "no", "x": 1},
)
_TAGS = ((), ("crayon-hf",), ("a", "b", "crayon-hf"))


def one_input(data: bytes) -> None:
    choices = Choices(data)
    missing, tags = choices.pick(_MISSING), choices.pick(_TAGS)
    text = text_of(choices.rest())
    card = front_matter.split(text)
    if card.opening + (card.block or "") + card.closing + card.body != text:
        raise Defect("the parts are not the whole")
    has = converted(front_matter.read, text)
    new = converted(front_matter.filled, card.block, missing, tags, front_matter.line_end(text))
    if new is None:
        return
    if has is None and not text.startswith("\ufeff"):
        raise Defect("what cannot be read was filled")
    said = front_matter.read(f"---\n{new}\n---\n")
    for key, value in {key: value for key, value in missing.items() if value is not None}.items():
        if key not in said or (key not in (has or {}) and said[key] != value):
            raise Defect(f"{key} is {said.get(key)!r} in {new!r}")
    if not set(tags) <= set(map(str, said.get("tags") or ())):
        raise Defect(f"tags are {said.get('tags')!r} in {new!r}")
    for key, value in (has or {}).items():
        if key != "tags" and repr(said.get(key)) != repr(value):
            raise Defect(f"{key!r} was {value!r} and is {said.get(key)!r}")


def seeds() -> Iterator[bytes]:
    """Shapes of metadata."""
    blocks = (
        "license: mit\ntags:\n- a\n- b\nlanguage: no\n",
        "{license: mit, tags: [a]}\n",
        "# nothing\n",
        "tags: []\nx: &a {y: 1}\nz: *a\n",
        "  a: 1\n  tags:\n    - x\n",
        "tags: a\n? complex\n: 2001-01-01\n",
        "x: |\n  text\n  ---\ntags: [a, b]\n",
        "- a\n",
        "a: 1\r\ntags:\r\n- b\r\n",
    )
    for at, block in enumerate(blocks):
        yield bytes([at % 3, at // 3 % 3]) + f"---\n{block}---\n# Title\n".encode()
