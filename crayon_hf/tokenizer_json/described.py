"""Components for versions of ``tokenizers`` that have none (1.0).

These classes are created, read, changed and pickled like those of 0.23, and hold only the values of a
``tokenizer.json``. A tokenizer's engine applies these values. A component alone does nothing: it has no
``normalize_str`` and no ``tokenize``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any, ClassVar

from crayon_hf.util import validation
from crayon_hf.util.byte_level import BYTE_LEVEL

_REQUIRED = object()
_OPTIONAL_NUMBERS = ("unk_id", "limit_alphabet", "max_token_length")
_BEHAVIORS = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")


class Regex:
    """A regular expression, where a str would be a literal text."""

    def __init__(self, s: str) -> None:
        self.pattern = validation.text(s, "s")

    def __repr__(self) -> str:
        return f"Regex({self.pattern!r})"


class Described:
    """Base of all components and trainers. It holds their values by the names in a ``tokenizer.json``."""

    __slots__ = ("_values",)

    _values: dict[str, Any]
    _kind: ClassVar[str]
    _defaults: ClassVar[dict[str, Any]] = {}
    """Defaults by argument name, in order of the arguments."""
    _renamed: ClassVar[dict[str, str]] = {}
    """The names of arguments whose name in the JSON differs, with that name."""

    def __init__(self, *values: Any, **named: Any) -> None:
        name = type(self).__name__
        if len(values) > len(self._defaults):
            raise TypeError(f"{name} takes {len(self._defaults)} arguments, but {len(values)} were given")
        given = dict(zip(self._defaults, values, strict=False))
        for argument, value in named.items():
            if argument not in self._defaults or argument in given:
                raise TypeError(f"{name} got {'two values for' if argument in given else 'an unknown'} {argument!r}")
            given[argument] = value
        missing = [argument for argument in self._defaults if argument not in given and self._is_required(argument)]
        if missing:
            raise TypeError(f"{name} lacks {', '.join(missing)}")
        _put_values(self, {})
        for argument, default in self._defaults.items():
            setattr(self, argument, given.get(argument, default))

    @classmethod
    def _is_required(cls, argument: str) -> bool:
        return cls._defaults[argument] is _REQUIRED

    @classmethod
    def _key(cls, name: str) -> str:
        key = cls._renamed.get(name, name)
        if key not in map(cls._renamed.get, cls._defaults, cls._defaults):
            raise AttributeError(
                f"{cls.__name__} has no {name}: with tokenizers 1.0 a component only describes a tokenizer"
            )
        return key

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _shown(name, self._values[self._key(name)])

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[self._key(name)] = _written(name, value, self._defaults.get(name))

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *(self._renamed.get(name, name) for name in self._defaults)]

    def _document(self) -> dict[str, Any]:
        return {"type": type(self).__name__} | {name: _plain(value) for name, value in self._values.items()}

    def __getstate__(self) -> bytes:
        return json.dumps(self._document(), ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: bytes) -> None:
        self._take(json.loads(state))

    def _take(self, document: dict[str, Any]) -> None:
        values = {name: value for name, value in document.items() if name != "type"}
        if type(self).__name__ == "Sequence":
            values = {name: [object_of(self._kind, part) for part in parts] for name, parts in values.items()}
        ordered = {}
        for name, default in self._defaults.items():
            key = self._key(name)
            if key in values or default is not _REQUIRED:
                ordered[key] = values[key] if key in values else _written(name, default, default)
        _put_values(self, ordered)

    def __repr__(self) -> str:
        values = (f"{name}={value!r}" for name, value in self._values.items() if name not in ("vocab", "merges"))
        return f"{type(self).__name__}({', '.join(values)})"

    # Parts of a Sequence are returned by reference, as in the library.

    def __len__(self) -> int:
        return len(self._parts())

    def __getitem__(self, index: int) -> Described:
        return self._parts()[index]

    def __bool__(self) -> bool:
        return True

    def _parts(self) -> list[Described]:
        if type(self).__name__ != "Sequence":
            raise TypeError(f"{type(self).__name__} has no parts: only a Sequence has")
        (parts,) = self._values.values()
        return parts  # type: ignore[no-any-return]


_put_values = Described.__dict__["_values"].__set__


class Model(Described):
    """A model."""

    __slots__ = ()
    _kind = "model"


class Normalizer(Described):
    """A normalizer."""

    __slots__ = ()
    _kind = "normalizer"


class PreTokenizer(Described):
    """A pre-tokenizer."""

    __slots__ = ()
    _kind = "pre_tokenizer"


class PostProcessor(Described):
    """A post-processor."""

    __slots__ = ()
    _kind = "post_processor"


class Decoder(Described):
    """A decoder."""

    __slots__ = ()
    _kind = "decoder"


class Trainer(Described):
    """A trainer. Only `BpeTrainer` exists, since only BPE models can be trained without ``tokenizers``."""

    __slots__ = ()
    _kind = "trainer"


_BYTE_LEVEL = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
_METASPACE = {"replacement": "\u2581", "prepend_scheme": "always", "split": True}
_BPE = {"unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None}
_REPLACE = {"pattern": _REQUIRED, "content": _REQUIRED}
_TABLE: tuple[tuple[type[Described], str, dict[str, dict[str, Any]]], ...] = (
    (
        *(Model, "models"),
        {
            "BPE": {
                **{"vocab": {}, "merges": [], "dropout": None, **_BPE},
                **{"fuse_unk": False, "byte_fallback": False, "ignore_merges": False},
            },
            "WordPiece": {
                **{"vocab": {}, "unk_token": "[UNK]", "max_input_chars_per_word": 100},
                "continuing_subword_prefix": "##",
            },
            "WordLevel": {"vocab": {}, "unk_token": "<unk>"},
            "Unigram": {"vocab": [], "unk_id": None, "byte_fallback": False},
        },
    ),
    (
        *(Normalizer, "normalizers"),
        {
            **{key: {} for key in ("ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "StripAccents")},
            "BertNormalizer": {
                **{"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
            },
            "Precompiled": {"precompiled_charsmap": _REQUIRED},
            "Prepend": {"prepend": "\u2581"},
            "Replace": _REPLACE,
            "Sequence": {"normalizers": _REQUIRED},
            "Strip": {"left": True, "right": True},
        },
    ),
    (
        *(PreTokenizer, "pre_tokenizers"),
        {
            **{key: {} for key in ("BertPreTokenizer", "UnicodeScripts", "Whitespace", "WhitespaceSplit")},
            "ByteLevel": _BYTE_LEVEL,
            "CharDelimiterSplit": {"delimiter": _REQUIRED},
            "Digits": {"individual_digits": False},
            "FixedLength": {"length": 5},
            "Metaspace": _METASPACE,
            "Punctuation": {"behavior": "isolated"},
            "Sequence": {"pretokenizers": _REQUIRED},
            "Split": {"pattern": _REQUIRED, "behavior": _REQUIRED, "invert": False},
        },
    ),
    (
        *(PostProcessor, "processors"),
        {
            "BertProcessing": {"sep": _REQUIRED, "cls": _REQUIRED},
            "ByteLevel": _BYTE_LEVEL,
            "RobertaProcessing": {
                **{"sep": _REQUIRED, "cls_token": _REQUIRED, "trim_offsets": True, "add_prefix_space": True}
            },
            "Sequence": {"processors": _REQUIRED},
            "TemplateProcessing": {"single": "$A", "pair": "$A:0 $B:1", "special_tokens": []},
        },
    ),
    (
        *(Decoder, "decoders"),
        {
            **{key: {} for key in ("ByteFallback", "Fuse")},
            "BPEDecoder": {"suffix": "</w>"},
            "ByteLevel": _BYTE_LEVEL,
            "CTC": {"pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
            "Metaspace": _METASPACE,
            "Replace": _REPLACE,
            "Sequence": {"decoders": _REQUIRED},
            "Strip": {"content": " ", "left": 0, "right": 0},
            "WordPiece": {"prefix": "##", "cleanup": True},
        },
    ),
    (
        *(Trainer, "trainers"),
        {
            "BpeTrainer": {
                **{"vocab_size": 30_000, "min_frequency": 0, "show_progress": True, "special_tokens": []},
                **{"limit_alphabet": None, "initial_alphabet": [], "continuing_subword_prefix": None},
                **{"end_of_word_suffix": None, "max_token_length": None},
            },
        },
    ),
)
"""The arguments of each class with their defaults, in order."""
_RENAMED = {
    ("normalizers", "Strip"): {"left": "strip_left", "right": "strip_right"},
    ("decoders", "Strip"): {"left": "start", "right": "stop"},
    ("processors", "RobertaProcessing"): {"cls_token": "cls"},
}


def _made(base: type[Described], module: str, name: str, defaults: dict[str, Any]) -> type[Described]:
    inside = {
        "__slots__": (),
        "__module__": f"crayon_hf.{module}",
        "__doc__": f"``{name}`` of a ``tokenizer.json``.",
        "_defaults": defaults,
        "_renamed": _RENAMED.get((module, name), {}),
    }
    return type(name, (base,), inside)


MODULES: dict[str, dict[str, Any]] = {
    module: {base.__name__: base} | {name: _made(base, module, name, values) for name, values in classes.items()}
    for base, module, classes in _TABLE
}
"""The component classes by module of ``tokenizers`` (``"models"``), then by name."""
MODULES["pre_tokenizers"]["ByteLevel"].alphabet = staticmethod(lambda: list(map(chr, BYTE_LEVEL.values())))

_CLASSES: dict[str, dict[str, type[Described]]] = {base._kind: MODULES[module] for base, module, _ in _TABLE}


def object_of(kind: str, document: dict[str, Any]) -> Described:
    """Return the component of this kind for its JSON. Members with defaults may be missing."""
    found = _CLASSES[kind][document["type"]]
    made = found.__new__(found)
    made._take(document)
    return made


def completed(kind: str, part: Any) -> Any:
    """Return the JSON of a component with all defaults, in the library's order."""
    if kind not in _CLASSES or part is None or part.get("type") not in _CLASSES[kind]:
        return part
    return object_of(kind, part)._document()


def fits(kind: str, component: Any) -> bool:
    """Whether the component is of this kind: an object of this module, or another one whose pickle is such JSON."""
    if isinstance(component, Described):
        return component._kind == kind
    try:
        return json.loads(component.__getstate__())["type"] in _CLASSES[kind]
    except Exception:
        return False


def _plain(value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], Described):
        return [part._document() for part in value]
    return value


def _shown(name: str, value: Any) -> Any:
    if name in ("sep", "cls", "cls_token"):
        return tuple(value)
    if name == "behavior":
        return value.lower()  # the library's spelling
    if name == "pattern":
        ((kind, text),) = value.items()
        return text if kind == "String" else Regex(text)
    return value


def _written(name: str, value: Any, default: Any) -> Any:
    """Return an argument's JSON. Raise TypeError or ValueError for a wrong value."""
    if value is None and default is not _REQUIRED:
        value = default
    if name in _WRITTEN:
        return _WRITTEN[name](value)
    if value is None and default is None:
        return None
    if isinstance(default, bool) or name == "strip_accents":
        return validation.flag(value, name)
    if isinstance(default, int) or name in _OPTIONAL_NUMBERS:
        return validation.unsigned(value, name, 64)
    if name == "dropout":
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"dropout is {validation.kind(value)}, expected float")
        if not 0 <= value <= 1:
            raise ValueError(f"dropout is {value}, expected a number from 0 to 1, or None")
        return float(value)
    return list(value) if isinstance(default, list) else validation.text(value, name)


def _pattern(value: Any) -> dict[str, str]:
    return {"Regex": value.pattern} if isinstance(value, Regex) else {"String": validation.text(value, "pattern")}


def _behavior(value: Any) -> str:
    if value not in _BEHAVIORS:
        raise ValueError(f"behavior is {value!r}, expected one of {', '.join(_BEHAVIORS)}")
    return "".join(map(str.capitalize, value.split("_")))


def _parts(value: Any) -> list[Described]:
    parts = list(value)
    for part in parts:
        if not isinstance(part, Described):
            raise TypeError(f"a part of a Sequence is {validation.kind(part)}, expected a component")
    return parts


def _token(value: Any) -> list[Any]:
    token, id = value
    return [validation.text(token, "a token"), validation.unsigned(id, "an id", 32)]


def _vocab(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else [list(entry) for entry in value]


def _merges(value: Any) -> list[Any]:
    return [list(merge) for merge in value]


def _charsmap(value: bytes | str) -> str:
    return value if isinstance(value, str) else base64.b64encode(value).decode()


def _template(value: Any) -> list[dict[str, Any]]:
    pieces = value.split() if isinstance(value, str) else list(value)
    return [piece if isinstance(piece, dict) else _piece(piece) for piece in pieces]


def _piece(piece: str) -> dict[str, Any]:
    """Parse ``$A``, ``$B:1``, ``$0``, ``[CLS]`` or ``[SEP]:1`` by the library's rules."""
    name, colon, type_id = piece.rpartition(":")
    if not colon or not type_id.isdecimal():
        name, type_id = piece, ""
    number = int(type_id or 0)
    if not name.startswith("$"):
        return {"SpecialToken": {"id": name, "type_id": number}}
    if name[1:].isdecimal() and not type_id:
        return {"Sequence": {"id": "A", "type_id": int(name[1:])}}
    if name[1:].upper() not in ("", "A", "B"):
        raise ValueError(f"{piece!r} is not a part of a template: expected $A, $B, $A:1, a token or a token with :1")
    return {"Sequence": {"id": name[1:].upper() or "A", "type_id": number}}


def _special_tokens(value: Iterable[Any]) -> Any:
    """Return a template's special tokens from pairs (token, id) or (id, token). Return those of a trainer unchanged."""
    if isinstance(value, dict):
        return value
    entries = list(value)
    if not all(isinstance(entry, (dict, tuple)) for entry in entries):
        return entries
    found = {}
    for entry in entries:
        if not isinstance(entry, dict):
            token, id = entry if isinstance(entry[0], str) else reversed(entry)
            entry = {"id": token, "ids": [id], "tokens": [token]}
        found[entry["id"]] = entry
    return dict(sorted(found.items()))


_WRITTEN = {
    "pattern": _pattern,
    "behavior": _behavior,
    **dict.fromkeys(("normalizers", "pretokenizers", "processors", "decoders"), _parts),
    **dict.fromkeys(("sep", "cls", "cls_token"), _token),
    "vocab": _vocab,
    "merges": _merges,
    "precompiled_charsmap": _charsmap,
    **dict.fromkeys(("single", "pair"), _template),
    "special_tokens": _special_tokens,
}
