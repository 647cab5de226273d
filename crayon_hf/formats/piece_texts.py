"""The steps before and after a model of pieces, as components of ``tokenizer.json``.

SentencePiece's normalizer applies the rules for characters (`charsmap`), drops white space at both ends and collapses
it inside. Then it adds a space before (or after) the text, and writes ``▁`` for every space. Only U+0020 is a space
here: the rules have already mapped other white space to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from crayon_hf.formats.charsmap import precompiled, rules_as_components, rules_one_by_one
from crayon_hf.formats.literals import any_of, several_of
from crayon_hf.formats.piece_types import BYTE, CONTROL, SPACE, UNKNOWN, Component, Piece, PieceOptions, replace

_MANY = 1_000_000
_START, _KEPT = "\ufdd5\ufdd9\ufdd5", "\ufdd5\ufdda\ufdd5"
"""Marks that no text contains: for a space that is dropped at the start of a text, and for a space that is kept."""
_HELD_FROM, _HELD, _END = "\ufdd4\ufdd8\ufdd4", "\ufdd4\ufdd9\ufdd4", "\ufdd4\ufdda\ufdd4"
"""Marks for the start of a shielded text, whose spaces are kept, for each of its spaces, and for the end of a text."""


def sequence(kind: str, components: Sequence[Component]) -> Component | None:
    """Chain the components; `kind` is the key of their list in the JSON."""
    if len(components) < 2:
        return components[0] if components else None
    return {"type": "Sequence", kind: list(components)}


def normalizers(options: PieceOptions, shielded: Sequence[str] = ()) -> list[Component]:
    """The normalizers that do what SentencePiece does before its model. The rules leave `shielded` texts as they are.

    Shielded texts are not always found from left to right where they overlap each other or the texts of rules.
    """
    space = SPACE if options.escape_whitespaces else " "
    held = _held if options.remove_extra_whitespaces else str
    if options.charsmap:
        steps = rules_as_components(options.charsmap, shielded, held)
    else:
        spaced = sorted({text for text in shielded if held(text) != text}, key=len, reverse=True)
        steps = [replace(text, held(text)) for text in spaced]
    holds = any(_HELD in str(step.get("content")) for step in steps)
    suffixed = options.treat_whitespace_as_suffix and options.add_dummy_prefix
    if suffixed:
        # A text that the rules make empty gets a suffix, too, but a text of dropped spaces gets none.
        steps.insert(0, replace(r"(?!\A\z)\z", _END, regex=True))
    if options.remove_extra_whitespaces:
        if suffixed:
            steps.append(replace(rf"\A +{_END}\z", "", regex=True))
        steps.append(replace(_extra_spaces(space, holds, _END if suffixed else ""), "", regex=True))
    if holds:
        steps += [replace(_HELD_FROM, ""), replace(_HELD, " ")]
    if suffixed:
        steps.append(replace(_END, space))
    elif options.add_dummy_prefix:
        # A text that the rules make empty gets a prefix, too, unless white space is dropped at its end.
        early = bool(steps) and not options.remove_extra_whitespaces
        # The prefix does not count as part of a shielded text.
        mark = early and any(text.startswith(space) for text in shielded)
        steps.insert(0 if early else len(steps), {"type": "Prepend", "prepend": _END if mark else space})
        if mark:
            steps.append(replace(_END, space))
    if options.escape_whitespaces:
        steps.append(replace(" ", SPACE))
    return steps


def rules_alone(options: PieceOptions) -> list[Component]:
    """Return the normalizer for the rules alone. `tokenizers` applies some rules differently (see `charsmap`)."""
    return [precompiled(options.charsmap)] if options.charsmap else []


def needs_own(options: PieceOptions, shielded: Sequence[str]) -> bool:
    """Whether the engine must run SentencePiece's own normalizer.

    The components of `normalizers` are slow with rules, and may find other shielded texts.
    """
    return bool(options.charsmap) or (
        options.remove_extra_whitespaces and any(_held(text) != text for text in shielded)
    )


def _held(text: str) -> str:
    """Return the text with all of its spaces marked as kept, if it has several spaces in a row."""
    return _HELD_FROM + text.replace(" ", _HELD) if "  " in text else text


def _extra_spaces(space: str, holds: bool, end: str) -> str:
    """A pattern of the spaces to drop: at the start of a text, after another space, and before `end`."""
    # A literal ▁ at the end is dropped like a space, since spaces have become ▁ by then.
    closing = f"[ {space}]" if space != " " else " "
    last = rf"(?={end}\z)" if end else r"\z"
    if not holds:
        return rf"\A +| +(?= )|{closing}+{last}"
    held = f"(?:{_HELD})"
    run = f"(?: |{_HELD_FROM}{held}+)+"
    return rf"\A{run}|(?<= |{_HELD}){run}|(?:{closing}|(?:{_HELD_FROM})?{held})+{last}"


def decoder(pieces: Sequence[Piece], options: PieceOptions) -> Component | None:
    """The decoder that does what SentencePiece does: it drops control pieces and the space before the first word.

    If spaces are escaped, it also drops a space's byte piece at the start of a text. No encoding starts with one.
    """
    steps: list[Component] = []
    control = [piece.text for piece in pieces if piece.kind == CONTROL and not options.control_in_text]
    steps += (replace(rf"\A{some}\z", "", regex=True) for some in several_of(control))
    # Drop one space, or the spaces of all pieces at the start.
    dropped = 1 if options.add_dummy_prefix else 0
    if options.remove_extra_whitespaces:
        dropped = _MANY
    # A piece of two spaces loses one space, a piece with a plain space none. So each piece's space is marked first.
    apart = bool(dropped) and any(piece.kind == BYTE for piece in pieces) and not options.escape_whitespaces
    apart = apart or any(
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
    """Return a post-processor that puts these tokens before and after each text, or None if both are None."""
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
