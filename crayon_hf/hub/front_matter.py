"""The metadata of a model card: the YAML between two lines ``---`` at the beginning of a README.md.

The author's text stays unchanged to the byte: missing keys go before it, and new tags into its list of tags. The YAML
is not parsed and rewritten, since Python and the Hub read different versions of YAML: Python would turn ``language:
no`` into ``language: false``. The result of an edit is parsed. Unless it equals the old metadata with the additions,
the edit is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from crayon_hf.errors import CrayonError

# The Hub and its client delimit the metadata like this.
_BLOCK = re.compile(r"\A(\s*---(?:\r\n|\r|\n))(.*?)((?:\r\n|\r|\n)---[ \t]*(?:\r\n|\n|\Z))", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\r|\n|\Z")


class Card(NamedTuple):
    """The parts of a README.md; joined, they are the whole file."""

    opening: str
    """The line ``---`` above the metadata."""
    block: str | None
    """The YAML, or None if the file has no metadata."""
    closing: str
    body: str


def split(text: str) -> Card:
    """Split a README.md into its metadata and the text after it."""
    match = _BLOCK.match(text)
    return Card("", None, "", text) if match is None else Card(match[1], match[2], match[3], text[match.end() :])


def line_end(text: str) -> str:
    """Return the first line end of a text, or ``\\n`` if it has only one line."""
    match = re.search(r"\r\n|\r|\n", text)
    return match[0] if match else "\n"


def read(text: str) -> dict[str, Any]:
    """Return the metadata of a README.md, or an empty dict if it has none. Raise CrayonError for invalid metadata."""
    return _parsed(split(text.removeprefix("\ufeff")).block)


def filled(block: str | None, missing: Mapping[str, Any], tags: Sequence[str], newline: str = "\n") -> str:
    """Return the YAML of a card, with the keys of `missing` that it lacks and with `tags` added to its own tags.

    `block` is the present YAML, or None. A key of `missing` whose value is None is not added. Raise CrayonError if the
    block is not valid, or if nothing can be added without changing its other lines.
    """
    has = _parsed(block)
    fill = {key: value for key, value in missing.items() if key not in has and value is not None}
    own = has.get("tags")
    own = own if isinstance(own, list) else [] if own is None else [own]
    more = [tag for tag in tags if tag not in own]
    expected = {**has, **fill, **({"tags": [*own, *more]} if more else {})}
    if expected == has and block is not None:
        return block
    edited = newline.join(_dump(expected).split("\n")[:-1]) if block is None else _edited(block, fill, own, more)
    try:
        is_right = _parsed(edited) == expected
    except CrayonError:
        is_right = False
    if not is_right:
        raise CrayonError(
            "README.md: crayon-hf cannot add to metadata of this shape: add "
            + ", ".join(f"{key}: {value}" for key, value in {**fill, "tags": more}.items())
            + " by hand"
        )
    return edited


def _parsed(block: str | None) -> dict[str, Any]:
    import yaml

    if block is None:
        return {}
    try:
        value = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # an impossible date is a ValueError
        raise CrayonError(f"README.md: its metadata is not YAML: repair it first: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CrayonError("README.md: its metadata does not map keys to values: repair it first")
    return value


def _edited(block: str, fill: Mapping[str, Any], own: Sequence[Any], more: Sequence[str]) -> str:
    import yaml

    newline = line_end(block)
    root = yaml.compose(block, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):  # comments alone
        return newline.join([block, *_dump({**fill, "tags": [*more]}).split("\n")[:-1]])
    if more:
        node = next((value for key, value in root.value if key.value == "tags"), None)
        if node is None:
            fill = {**fill, "tags": [*more]}
        else:
            block = _tags_added(block, node, own, more)
    if not fill:
        return block
    # Before the first key: lines after the last one could become part of its value.
    if root.flow_style:
        at = root.start_mark.index + 1
        return f"{block[:at]}{_flow(fill)[1:-1]}{', ' if root.value else ''}{block[at:]}"
    at, indent = root.start_mark.index, " " * root.start_mark.column
    return block[:at] + "".join(f"{line}{newline}{indent}" for line in _dump(fill).split("\n")[:-1]) + block[at:]


def _tags_added(block: str, node: Any, own: Sequence[Any], more: Sequence[str]) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    if type(node).__name__ == "MappingNode":
        return block  # `filled` notices that nothing was added, and refuses
    if not isinstance(node.value, list):  # a word, or nothing
        return f"{block[:start]}{' ' if start == end else ''}{_flow([*own, *more])}{block[end:]}"
    if node.flow_style:
        inside = block[:end].removesuffix("]")
        comma = ", " if node.value and not inside.rstrip().endswith(",") else ""
        return f"{inside}{comma}{_flow([*more])[1:-1]}{block[end - 1 :]}"
    match = _LINE_END.search(block, node.value[-1].end_mark.index)
    assert match is not None
    lines = "".join(f"{line_end(block)}{' ' * node.start_mark.column}- {_flow([tag])[1:-1]}" for tag in more)
    return f"{block[: match.start()]}{lines}{block[match.start() :]}"


def _flow(values: Any) -> str:
    """Return a list or a mapping as YAML on one line, with its brackets."""
    import yaml

    dumped: str = yaml.safe_dump(values, default_flow_style=True, width=float("inf"), sort_keys=False)
    return dumped.rstrip("\n")


def _dump(values: Mapping[str, Any]) -> str:
    import yaml

    dumped: str = yaml.safe_dump(dict(values), default_flow_style=False, width=float("inf"), sort_keys=False)
    return dumped
