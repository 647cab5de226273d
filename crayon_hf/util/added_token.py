"""The class `AddedToken`: that of the ``tokenizers`` library, or a replacement for versions without it (1.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

_FLAGS = ("rstrip", "lstrip", "single_word", "normalized", "special")


class _AddedToken:
    """An added token and the rules for matching it, with the interface of ``tokenizers.AddedToken`` 0.23."""

    __slots__ = ("_normalized", "content", "lstrip", "rstrip", "single_word", "special")

    def __init__(
        self,
        content: str = "",
        *,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool | None = None,
        special: bool = False,
    ) -> None:
        """By default `normalized` is the opposite of `special`."""
        if not isinstance(content, str):
            raise TypeError(f"content is {type(content).__name__}, expected str")
        self.content = content
        self.single_word, self.lstrip, self.rstrip, self.special = single_word, lstrip, rstrip, special
        self._normalized = normalized

    @property
    def normalized(self) -> bool:
        """Whether the token is matched in normalized text."""
        return not self.special if self._normalized is None else self._normalized

    def __repr__(self) -> str:
        return f'AddedToken("{self.content}", {", ".join(f"{name}={getattr(self, name)}" for name in _FLAGS)})'

    def __str__(self) -> str:
        return self.content

    def __eq__(self, other: object) -> bool:
        return is_added_token(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(self.content)


_AddedToken.__name__ = _AddedToken.__qualname__ = "AddedToken"  # pickles look it up under this name

if TYPE_CHECKING:
    from tokenizers import AddedToken as AddedToken
else:
    try:
        from tokenizers import AddedToken
    except ImportError:
        AddedToken = _AddedToken


def is_added_token(value: object) -> bool:
    """Whether this is an AddedToken. If the class is our replacement, objects of the library's own class count, too."""
    return isinstance(value, AddedToken) or (AddedToken.__module__ == __name__ and type(value).__name__ == "AddedToken")
