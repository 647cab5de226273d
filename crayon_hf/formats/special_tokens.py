"""The added tokens that transformers 5 makes of the files beside a Hugging Face vocabulary.

transformers looks in four places. ``tokenizer_config.json`` names the special tokens and may list all added tokens with
their ids (``added_tokens_decoder``). Without that list, ``special_tokens_map.json`` overrules the names, and
``added_tokens.json`` has the ids. A token that no file names has the default of the class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from crayon_hf.errors import VocabularyError
from crayon_hf.formats.sidecar_files import Beside
from crayon_hf.util.added_token import AddedToken

NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")

_FIELDS = {"content", "single_word", "lstrip", "rstrip", "normalized", "special"}


class SpecialTokens(NamedTuple):
    """The special tokens and the added tokens, as transformers makes them."""

    named: dict[str, str | AddedToken]
    """The tokens with a name, such as ``bos_token``."""
    extra: list[str | AddedToken]
    """The special tokens without a name (``extra_special_tokens``)."""
    to_add: list[AddedToken]
    """The tokens to add to the vocabulary, in order. Of two entries for one text, the flags of the later one count."""

    def text(self, name: str) -> str:
        """Return the text of the special token with this name. Raises VocabularyError if the name has no token."""
        if name not in self.named:
            raise VocabularyError(f"the tokenizer needs a {name}, and no file names one")
        return str(self.named[name])

    def as_config(self) -> dict[str, Any]:
        """The special tokens by name, as a tokenizer_config.json states them."""
        config: dict[str, Any] = {name: str(token) for name, token in self.named.items()}
        return config | ({"extra_special_tokens": [str(token) for token in self.extra]} if self.extra else {})


def special_tokens(beside: Beside, defaults: Mapping[str, str | None]) -> SpecialTokens:
    """Return the special tokens that the settings files `beside` list, and the `defaults` for names that they lack."""
    values = {key: value for key, value in beside.config.items() if _is_token_key(key)}
    if "additional_special_tokens" in values and not values.get("extra_special_tokens"):
        values["extra_special_tokens"] = values.pop("additional_special_tokens")
    explicit = {key: values.pop(key) for key in [*values] if key not in NAMES and isinstance(values[key], str)}
    if isinstance(values.get("extra_special_tokens"), dict):
        explicit |= values.pop("extra_special_tokens")
    _check_extra(values)
    decoder = _listed(beside.config.get("added_tokens_decoder"))
    if decoder is None:
        values |= {key: _mapped(key, value, values) for key, value in beside.special_tokens_map.items()}
        if isinstance(values.get("extra_special_tokens"), dict):
            explicit |= values.pop("extra_special_tokens")
        _check_extra(values)
        decoder = _from_added_tokens(beside.added_tokens, values)
    known = {str(token): token for token in decoder.values()}
    for name in NAMES:
        if isinstance(values.get(name), (str, AddedToken, dict)):
            token = _token(values[name], name)
            values[name] = known.get(str(token), token)
    if "additional_special_tokens" in values and "extra_special_tokens" not in values:
        values["extra_special_tokens"] = values.pop("additional_special_tokens")
    _check_extra(values)
    extra = values.pop("extra_special_tokens", None) or []
    others = {key: value for key, value in values.items() if key not in NAMES and isinstance(value, (str, AddedToken))}
    named = {name: values.get(name, defaults.get(name)) for name in NAMES} | others | explicit
    tokens = {key: _token(value, key) for key, value in named.items() if value is not None}
    extras = [_token(value, "extra_special_tokens") for value in extra]
    return SpecialTokens(tokens, extras, _to_add(decoder, tokens, extras))


def _to_add(
    decoder: Mapping[int, AddedToken], named: Mapping[str, str | AddedToken], extra: list[str | AddedToken]
) -> list[AddedToken]:
    listed: list[str | AddedToken] = [decoder[id] for id in sorted(decoder)]
    known = {str(token) for token in listed}
    for token in (*named.values(), *extra):
        if str(token) not in known and token not in listed:
            listed.append(token)
    names = {str(token) for token in named.values()}
    tokens = []
    for token in listed:
        if isinstance(token, str):
            token = AddedToken(token, special=True)
        elif str(token) in names:
            token.special = True
        tokens.append(token)
    return tokens


def _check_extra(values: Mapping[str, Any]) -> None:
    if not isinstance(values.get("extra_special_tokens") or [], list):
        raise VocabularyError("extra_special_tokens is neither a list nor an object")


def _is_token_key(key: str) -> bool:
    return key.endswith("_token") or key in ("extra_special_tokens", "additional_special_tokens")


def _token(value: Any, where: str) -> str | AddedToken:
    if isinstance(value, (str, AddedToken)):
        return value
    if isinstance(value, dict) and value.get("__type") == "AddedToken":
        return _added({key: value[key] for key in value if key != "__type"}, where)
    raise VocabularyError(f"{where} is neither a string nor an added token")


def _added(fields: Any, where: str) -> AddedToken:
    flags = [fields[key] for key in fields if key != "content"] if isinstance(fields, dict) else []
    if (
        not isinstance(fields, dict)
        or not isinstance(fields.get("content"), str)
        or not fields.keys() <= _FIELDS
        or not all(isinstance(flag, bool) for flag in flags)
    ):
        raise VocabularyError(f"{where} has something that is not an added token")
    return AddedToken(**fields)


def _listed(decoder: Any) -> dict[int, AddedToken] | None:
    if decoder is None:
        return None
    if not isinstance(decoder, dict) or not all(str(id).isdecimal() for id in decoder):
        raise VocabularyError("added_tokens_decoder in tokenizer_config.json does not map ids to tokens")
    return {int(id): _added(token, "added_tokens_decoder") for id, token in decoder.items()}


def _mapped(key: str, value: Any, values: Mapping[str, Any]) -> Any:
    """Return the value of an entry of special_tokens_map.json. Extra special tokens follow those in `values`."""
    if isinstance(value, dict) and key != "extra_special_tokens":
        return _added({name: value[name] for name in value if name != "special"} | {"special": True}, key)
    if key == "extra_special_tokens" and isinstance(value, list):
        merged = list(values.get(key) or [])
        for item in value:
            token = _added(item | {"special": True}, key) if isinstance(item, dict) else item
            if token not in merged:
                merged.append(token)
        return merged
    return value


def _from_added_tokens(ids: Mapping[str, Any], values: Mapping[str, Any]) -> dict[int, AddedToken]:
    special = {str(values[name]) for name in NAMES if values.get(name)}
    special |= {str(token) for token in values.get("extra_special_tokens") or []}
    if not all(type(id) is int and id >= 0 for id in ids.values()):
        raise VocabularyError("added_tokens.json does not map tokens to ids")
    return {
        id: AddedToken(content, normalized=content not in special, special=content in special)
        for content, id in ids.items()
    }
