"""What happens to a text before and after a model of pieces, as components of ``tokenizer.json``.

SentencePiece's normalizer, step by step: rules for characters (`charsmap`), white space at both ends dropped and inside
collapsed, a space before (or after) the text, and ``▁`` for every space. Spaces are U+0020 alone: the rules have made
spaces of what else is to count as one.
"""

from __future__ import annotations

from collections.abc import Sequence

from crayon_hf.formats.charsmap import rules_as_components, rules_one_by_one
from crayon_hf.formats.literals import any_of
from crayon_hf.formats.piece_types import BYTE, CONTROL, SPACE, UNKNOWN, Component, Piece, PieceOptions, replace

_MANY = 1_000_000
_START, _KEPT = "\ufdd5\ufdd9\ufdd5", "\ufdd5\ufdda\ufdd5"
"""Noncharacters that no text has in a row, for spaces that are dropped at the start of a text, and that are not."""


def sequence(kind: str, components: Sequence[Component]) -> Component | None:
    """The components one after the other; `kind` is the name of the list."""
    if len(components) < 2:
        return components[0] if components else None
    return {"type": "Sequence", kind: list(components)}


def normalizers(options: PieceOptions, shielded: Sequence[str] = ()) -> list[Component]:
    """What makes of a text what SentencePiece does. The rules leave `shielded` texts as they are."""
    space = SPACE if options.escape_whitespaces else " "
    steps = rules_as_components(options.charsmap, shielded) if options.charsmap else []
    prefix: Component = {"type": "Prepend", "prepend": space}
    dropped = [r"\A +", " +(?= )"] if options.remove_extra_whitespaces else []
    suffixed = options.treat_whitespace_as_suffix and options.add_dummy_prefix
    # A literal ▁ at the end is dropped like a space, since spaces have become ▁ by then.
    end = f"[ {space}]" if space != " " else " "
    if options.remove_extra_whitespaces and not suffixed:
        dropped.append(rf"{end}+\z")
    if dropped:
        steps.append(replace("|".join(dropped), "", regex=True))
    if suffixed:
        steps.append(
            replace(rf"(?!\A\z){end}*\z" if options.remove_extra_whitespaces else r"(?!\A\z)\z", space, regex=True)
        )
    elif options.add_dummy_prefix:
        # A text of which the rules leave nothing gets one, too, unless white space is dropped at its end.
        steps.insert(len(steps) if options.remove_extra_whitespaces else 0, prefix)
    if options.escape_whitespaces:
        steps.append(replace(" ", SPACE))
    return steps


def decoder(pieces: Sequence[Piece], options: PieceOptions) -> Component | None:
    """What SentencePiece makes of tokens: control pieces are nothing, and the space before the first word goes.

    A text that starts with the byte piece of a space loses that, too; no encoding starts so.
    """
    steps: list[Component] = []
    control = [piece.text for piece in pieces if piece.kind == CONTROL and not options.control_in_text]
    if control:
        steps.append(replace(rf"\A{any_of(control)}\z", "", regex=True))
    # One space, or that of every piece at the start.
    dropped = 1 if options.add_dummy_prefix else 0
    if options.remove_extra_whitespaces:
        dropped = _MANY
    # A piece with two of them loses one, a piece with a plain space none: told apart while they are pieces.
    apart = any(
        (dropped and piece.text.startswith(" ")) or (dropped == _MANY and piece.text.startswith(SPACE * 2))
        for piece in pieces
    )
    if apart:
        steps.append(replace(rf"\A{SPACE}", _START, regex=True))
    steps.append(replace(SPACE, " "))
    unknown = [piece.text for piece in pieces if piece.kind == UNKNOWN]
    surface = options.unk_surface
    if dropped and surface.startswith(" "):
        surface = _KEPT + surface[1:]
    if unknown:
        steps.append(replace(rf"\A{any_of(unknown)}\z", surface, regex=True))
    if any(piece.kind == BYTE for piece in pieces):
        steps.append({"type": "ByteFallback"})
    steps.append({"type": "Fuse"})
    if apart:
        many = "+" if dropped == _MANY else ""
        steps += [replace(rf"\A(?:{_START}){many}", "", regex=True), replace(_START, " ")]
    elif dropped:
        steps.append({"type": "Strip", "content": " ", "start": dropped, "stop": 0})
    if unknown and _KEPT in surface:
        steps.append(replace(_KEPT, " "))
    if options.decoded_charsmap:
        steps += rules_one_by_one(options.decoded_charsmap)
    return sequence("decoders", steps)


def around(bos: tuple[str, int] | None, eos: tuple[str, int] | None) -> Component | None:
    """A post-processor that puts these tokens before and after each text; None for neither."""
    tokens = [token for token in (bos, eos) if token is not None]
    if not tokens:
        return None

    def framed(name: str, type_id: int) -> list[Component]:
        def special(token: tuple[str, int] | None) -> list[Component]:
            return [{"SpecialToken": {"id": token[0], "type_id": type_id}}] if token else []

        return [*special(bos), {"Sequence": {"id": name, "type_id": type_id}}, *special(eos)]

    return {
        "type": "TemplateProcessing",
        "single": framed("A", 0),
        "pair": framed("A", 0) + framed("B", 1),
        "special_tokens": {text: {"id": text, "ids": [id], "tokens": [text]} for text, id in tokens},
    }
