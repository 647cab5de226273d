"""Turns a ``tokenizer.json`` into pieces with scores, as SentencePiece models and GGUF files contain them.

The modules `piece_texts` and `pieces` do the inverse: they turn pieces into components. An UnsupportedError names a
component that pieces cannot express.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from crayon_hf import _core
from crayon_hf.errors import UnsupportedError, VocabularyError
from crayon_hf.formats import piece_texts
from crayon_hf.formats.converted import Converted
from crayon_hf.formats.export_parts import (
    FLAGS,
    Document,
    Exactness,
    added_kinds,
    added_tokens,
    normalizers,
    pre_tokenizers,
    refuse_options,
    texts_by_id,
    unmerged,
)
from crayon_hf.formats.literals import any_of
from crayon_hf.formats.piece_merges import merges_of
from crayon_hf.formats.piece_types import (
    BYTE,
    CONTROL,
    NORMAL,
    SPACE,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Component,
    PieceOptions,
    replace,
)
from crayon_hf.tokenizer_json.document import pair_of

_BYTES = frozenset(f"<0x{byte:02X}>" for byte in range(256))
_ESCAPED = replace(" ", SPACE)


# -- kinds


def kinds_of(converted: Converted, document: Document) -> tuple[list[str], list[int]]:
    """Return the texts of all tokens in the order of their ids, and the kinds of their pieces."""
    model = document["model"]
    texts = texts_by_id(document)
    added = added_kinds(document)
    unknown = _unknown_of(model)
    silent = frozenset(converted.metadata.get("control") or ())
    found = []
    for id, text in enumerate(texts):
        if text == unknown:
            found.append(UNKNOWN)
        elif text in added:
            found.append(added[text])
        elif model.get("byte_fallback") and text in _BYTES:
            found.append(BYTE)
        else:
            found.append(CONTROL if id in silent else NORMAL)
    return texts, found


def _unknown_of(model: Mapping[str, Any]) -> str | None:
    if model["type"] != "Unigram":
        return model.get("unk_token")
    id = model.get("unk_id")
    return None if id is None else model["vocab"][id][0]


def check_bytes(model: Mapping[str, Any], texts: Collection[str], target: str) -> None:
    """Raise an UnsupportedError if the model has byte fallback, and a byte has no token."""
    if model.get("byte_fallback") and not _BYTES.issubset(texts):
        missing = min(_BYTES - set(texts))
        raise UnsupportedError(f"byte_fallback without the token {missing}: {target} needs one for each byte")


# -- normalizers and pre-tokenizers


class Spelling(NamedTuple):
    """How a text is normalized and cut before the model sees it."""

    options: PieceOptions
    splits: bool = False
    """Whether a pre-tokenizer cuts the text before each ``▁``."""


def spelling_of(
    document: Document,
    target: str,
    exactness: Exactness,
    normalizers_of: Callable[[PieceOptions], Sequence[Component]] = piece_texts.normalizers,
    *,
    collapses: bool = True,
) -> Spelling:
    """Find the options by which a file for the library `target` expresses the normalizers and pre-tokenizers.

    `normalizers_of` returns the normalizers that our reader of such files makes from options. `collapses` says whether
    the target drops extra spaces. Raises UnsupportedError if no options give the same normalizers.
    """
    normal, cuts = normalizers(document), pre_tokenizers(document)
    splits = False
    if cuts and _prefix_of(cuts[-1]) == "never":
        splits = bool(cuts[-1].get("split", True))
        normal = normal if normal[-1:] == [_ESCAPED] else [*normal, _ESCAPED]
        cuts = cuts[:-1]
    elif len(cuts) == 1 and normal[-1:] == [_ESCAPED] and _is_split_at_spaces(cuts[0]):
        cuts = []  # the normalizer has replaced all spaces
    charsmap = charsmap_of(normal)
    if not cuts:
        for suffixed, prefixed, removing, escaping in product((False, True), repeat=4):
            options = PieceOptions(prefixed, removing, escaping, suffixed, charsmap)
            with suppress(UnsupportedError):  # no components can express these rules
                if (not charsmap or len(normal) > 1) and list(normalizers_of(options)) == normal:
                    return Spelling(options, splits)
    elif collapses and (near := _as_transformers_converts(normal, cuts, charsmap, exactness, target)) is not None:
        return Spelling(near, True)
    component = f"the pre-tokenizer {_name_of(cuts)}" if cuts else f"the normalizer {_name_of(normal)}"
    raise UnsupportedError(f"{component}: {target} cannot treat text like that")


def _is_split_at_spaces(component: Component) -> bool:
    is_split = component.get("type") == "Split" and component.get("pattern") == {"String": " "}
    return is_split and not component.get("invert")


def _name_of(components: Sequence[Component]) -> str:
    return ", ".join(str(component.get("type")) for component in components) or "(none)"


def _prefix_of(component: Component) -> str | None:
    """Return where a Metaspace puts a prefix: "always", "first" or "never". None for another component."""
    if component.get("type") != "Metaspace" or component.get("replacement") != SPACE:
        return None
    scheme = component.get("prepend_scheme")
    return str(scheme) if scheme else "always" if component.get("add_prefix_space", True) else "never"


def charsmap_of(normal: Sequence[Component]) -> bytes:
    """Return the rules of the normalizer Precompiled, or no bytes if the tokenizer has none."""
    rules = [step.get("precompiled_charsmap") for step in normal if step.get("type") == "Precompiled"]
    if not rules or not rules[0]:
        return b""
    try:
        return base64.b64decode(rules[0], validate=True)
    except (ValueError, TypeError) as error:
        raise VocabularyError("the tokenizer.json is malformed: a precompiled_charsmap is not base64") from error


def _as_transformers_converts(
    normal: Sequence[Component], cuts: Sequence[Component], charsmap: bytes, exactness: Exactness, target: str
) -> PieceOptions | None:
    """Return the options of a SentencePiece model if these are the components that transformers makes of it, or None.

    These components only approximate the model's own behaviour, so the result is inexact.
    """
    *before, last = cuts
    words = [step["type"] for step in before] == ["WhitespaceSplit"]
    spaces = [step for step in normal if step.get("type") == "Replace"]
    collapsed = [step.get("pattern") for step in spaces] == [{"Regex": " {2,}"}]
    known = {"Precompiled", "Strip", *(["Replace"] if collapsed else [])}
    if not (words or (not before and collapsed)) or _prefix_of(last) != "always":
        return None
    if not all(step.get("type") in known for step in normal) or not last.get("split", True):
        return None
    exactness.differs(
        f"the pre-tokenizer Metaspace: {target} adds ▁ even before a text that begins with one, drops spaces at the "
        "ends of a text, and has no other white space"
    )
    if charsmap:
        exactness.differs(
            f"the normalizer Precompiled: tokenizers applies its rules to one grapheme cluster or character, {target} "
            "takes the longest rule that fits"
        )
    return PieceOptions(charsmap=charsmap)


# -- BPE


def merged_scores(
    model: Mapping[str, Any], texts: Sequence[str], kinds: Sequence[int], joined: Collection[int], target: str
) -> list[float]:
    """Return scores with which the target joins the same neighbours as the merges do.

    The target repeatedly joins the two neighbours whose joined text is the piece of the best score. `joined` has the
    kinds of pieces that the target makes in this way. The score of a piece is the position of its merges in the list,
    so the target and the merges make the same piece first. Both make a piece from the same two parts in every text, as
    ``rank_merges.h`` proves for ranks. The ids differ only if the target joins two parts of a
    piece that no merge joins.

    If the merges of several pieces alternate in the list, these pieces share one score. The merges must then equal the
    result of `merges_of` for the scores.
    """
    pieces = dict(zip(texts, kinds, strict=True))
    merges = [*map(pair_of, model["merges"])]
    rank = _places([left + right for left, right in merges])
    if missing := next((t for pair in merges for t in (*pair, "".join(pair)) if t not in pieces), None):
        raise VocabularyError(f"the tokenizer.json is malformed: a merge of {missing!r}, which is not a token")
    for text in {text for pair in merges for text in pair} | rank.keys():
        if pieces[text] not in joined:
            raise UnsupportedError(f"a merge of {text!r}, which {target} neither joins nor makes")
    others = iter(range(len(rank), len(rank) + len(texts)))
    scores = [-float(rank[text] if text in rank else next(others)) for text in texts]
    if len(set(rank.values())) < len(rank):
        own = {text: score for text, score, kind in zip(texts, scores, kinds, strict=True) if kind in joined}
        if not _are_merges_of(merges, own, [text for text, kind in pieces.items() if kind == UNUSED]):
            raise UnsupportedError(f"the order of the merges: {target} can only order pieces")
        return scores
    # The target also joins characters that are not pieces.
    vocab = {text: id for id, text in enumerate(dict.fromkeys([*texts, *"".join(texts)]))}
    plain = {"unk_token": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab}
    merging = _core.TextModel(json.dumps({**model, **plain}))
    for text, kind in pieces.items():
        if len(text) > 1 and kind in joined and merging.count(text) == 2:
            raise UnsupportedError(f"no merge makes the token {text!r}, but {target} would join its parts")
    return scores


def _are_merges_of(merges: list[tuple[str, str]], scores: Mapping[str, float], unused: Collection[str]) -> bool:
    try:
        return merges_of(scores, unused) == merges
    except UnsupportedError:
        return False


def _places(made: Sequence[str]) -> dict[str, int]:
    """Return the position of each merged piece. Pieces whose merges alternate in the list share one position."""
    last = {text: number for number, text in enumerate(made)}
    places: dict[str, int] = {}
    place, end = -1, -1
    for number, text in enumerate(made):
        if number > end:
            place += 1
        end = max(end, last[text])
        places[text] = place
    return places


def check_bpe(document: Document, texts: Sequence[str], kinds: Sequence[int], target: str) -> None:
    """Raise an UnsupportedError if pieces cannot express an option of a BPE model over text."""
    model = document["model"]
    refuse_options(model, ("dropout", "continuing_subword_prefix", "end_of_word_suffix"), target)
    check_bytes(model, texts, target)
    if not model.get("byte_fallback") and not model.get("fuse_unk"):
        raise UnsupportedError(f"fuse_unk is false: {target} gives one unknown token for a run of unknown characters")
    if model.get("ignore_merges"):
        added = added_tokens(document)
        whole = unmerged(model, [text for text in texts if text not in added])
        if whole is not None:
            raise UnsupportedError(
                f"ignore_merges: no merges make {whole!r}, and {target} gives only tokens that merges make"
            )
    if single := next((t for t, kind in zip(texts, kinds, strict=True) if len(t) == 1 and kind != NORMAL), None):
        raise UnsupportedError(f"token {single!r}: {target} would find this single character in every text")


# -- Unigram


def check_unigram(
    document: Document, texts: Sequence[str], kinds: Sequence[int], exactness: Exactness, target: str
) -> list[float]:
    """Return the scores of a Unigram model. Raises UnsupportedError if the target would cut text differently."""
    model = document["model"]
    if _unknown_of(model) is None:
        raise UnsupportedError(f"a Unigram model without unk_id: {target} needs an unknown token")
    check_bytes(model, texts, target)
    scores = [float(score) for _, score in model["vocab"]]
    if len(scores) != len(texts):
        raise UnsupportedError(f"added tokens that the Unigram model does not have, such as {texts[len(scores)]!r}")
    single = np.array(scores, np.float32).astype(np.float64)
    if not np.array_equal(single, np.array(scores)):
        exactness.differs(f"scores of the Unigram model that single precision cannot hold: {target} rounds them")
    normal = [score for score, kind in zip(scores, kinds, strict=True) if kind == NORMAL]
    if not normal or min(normal) > min(scores):
        raise UnsupportedError(
            "a special token has the worst score of the Unigram model, which decides the score of unknown characters"
        )
    _check_silent(document, texts, kinds, exactness, target)
    return scores


def _check_silent(
    document: Document, texts: Sequence[str], kinds: Sequence[int], exactness: Exactness, target: str
) -> None:
    """Raise an UnsupportedError if the model can give a token that the target never gives.

    An added token is cut out of the text before normalization. Its text appears again only if the normalizer writes
    that text, with the spaces that it adds or by its rules for characters.
    """
    added = added_tokens(document)
    has_rules = bool(charsmap_of(normalizers(document)))
    model = _core.TextModel(json.dumps(document["model"]))
    spelled = False
    for id, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
        if kind == NORMAL or [token[0] for token in model.tokenize(text)] != [id]:
            continue
        if text not in added or SPACE in text:
            raise UnsupportedError(
                f"token {text!r}: the model can find it in text, and {target} never finds a token of its kind"
            )
        if has_rules and not spelled:
            spelled = True
            exactness.differs(
                f"the normalizer Precompiled: its rules can spell the added token {text!r}, which {target} then does "
                "not find"
            )


def check_words(spelling: Spelling, texts: Sequence[str], kinds: Sequence[int], target: str) -> None:
    """Raise an UnsupportedError if the pre-tokenizer cuts words apart, and `target` would join pieces across a cut."""
    if not spelling.splits:
        return
    found = [text for text, kind in zip(texts, kinds, strict=True) if kind == NORMAL]
    across = next((text for text in found if SPACE in text[1:]), None)
    if across is not None:
        raise UnsupportedError(
            f"token {across!r} crosses the end of a word: {target} does not cut words, and would find it"
        )
    if SPACE not in found:
        raise UnsupportedError(f"no token {SPACE!r}: {target} would join unknown characters of two words")


# -- added tokens


def check_user_defined(document: Document, options: PieceOptions, target: str) -> None:
    """Raise an UnsupportedError if a user-defined piece cannot replace an added token that is not special."""
    for token in document["added_tokens"]:
        if token.get("special"):
            continue
        text = token["content"]
        flag = next((flag for flag in FLAGS if token.get(flag)), None)
        if flag is not None:
            raise UnsupportedError(f"the added token {text!r} has {flag}, which {target} does not have")
        if options.add_dummy_prefix or options.remove_extra_whitespaces or options.charsmap:
            raise UnsupportedError(
                f"the added token {text!r} is not special: the text after it gets the prefix of a new text, which "
                f"{target} does not add"
            )
        if " " in text or SPACE in text:
            raise UnsupportedError(
                f"the added token {text!r} has a space: {target} would find it where the tokenizer does not"
            )
        if document["model"]["type"] == "Unigram":
            raise UnsupportedError(
                f"the added token {text!r} is not special: pieces of a Unigram model may cross it in {target}"
            )


def without_cuts(
    document: Document, texts: Sequence[str], kinds: Sequence[int]
) -> tuple[Document, list[int], list[str]]:
    """Remove the pre-tokenizers that cut user-defined pieces out of text.

    Return the document without them, the kinds with USER_DEFINED for these pieces, and the pieces' texts. The caller
    proves the result: it reads the written file with `pieces` and compares the document.
    """
    cut_out = cut_out_by(document, texts)
    if not cut_out:
        return document, [*kinds], []
    found = set(cut_out)
    changed = [USER_DEFINED if text in found else kind for text, kind in zip(texts, kinds, strict=True)]
    plain = {"pre_tokenizer": None, "model": document["model"] | {"ignore_merges": False}}
    return document | plain, changed, cut_out


def cut_out_by(document: Document, texts: Sequence[str]) -> list[str]:
    """Return the user-defined pieces that a pre-tokenizer made by `pieces` cuts out of text."""
    cuts = pre_tokenizers(document)
    pattern = (cuts[0].get("pattern") or {}).get("Regex") if cuts and cuts[0].get("type") == "Split" else None
    if not document["model"].get("ignore_merges") or not pattern or not pattern.startswith("(?:"):
        return []
    try:
        found = [text for text in texts if re.fullmatch(pattern, text)]
    except re.error:
        return []
    return found if any_of(found) == pattern else []
