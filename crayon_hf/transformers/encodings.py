"""The attribute `encodings` of a `BatchEncoding`, whose elements are made at their first use."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, SupportsIndex

from crayon_hf.tokenizer_json.truncation_padding import Padding, Truncation

_making = threading.RLock()


class Recipe(NamedTuple):
    """The inputs from which the encodings of a batch can be made again. The immutable `engine` has made the ids."""

    engine: Any
    first: list[str]
    second: list[str] | None
    add_special_tokens: bool
    special_as_text: bool
    truncation: Truncation | None
    padding: Padding | None

    def make(self) -> list[Any]:
        """Encode again with the engine and settings that produced the ids."""
        inputs = self.first if self.second is None else list(zip(self.first, self.second, strict=True))
        made: list[Any] = self.engine.encode_batch(
            inputs, False, self.add_special_tokens, self.special_as_text, True, 0, self.truncation, self.padding
        )
        return made


class TextRecipe(NamedTuple):
    """A `Recipe` for one text, without truncation and padding."""

    engine: Any
    text: str
    special_as_text: bool

    @property
    def first(self) -> list[str]:
        return [self.text]

    def make(self) -> list[Any]:
        return [self.engine.encode(self.text, None, False, True, self.special_as_text)]


class LazyEncodings(list[Any]):
    """A list of encodings that is filled when it is first used for more than its length."""

    __slots__ = ("_recipe",)

    _recipe: Recipe | TextRecipe | None

    def _fill(self) -> LazyEncodings:
        if self._recipe is not None:
            with _making:  # two threads may access it at the same time
                recipe = self._recipe
                if recipe is not None:
                    made = recipe.make()
                    list.extend(self, made)
                    self._recipe = None
        return self

    def __len__(self) -> int:
        recipe = self._recipe
        return list.__len__(self) if recipe is None else len(recipe.first)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[Any]:
        return list.__iter__(self._fill())

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return list, (list(self._fill()),)

    def __copy__(self) -> list[Any]:
        return list(self._fill())

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(encoding, memo) for encoding in self]

    def __radd__(self, other: list[Any]) -> list[Any]:
        return other + list(self._fill()) if isinstance(other, list) else NotImplemented


def _filled(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    def method(self: LazyEncodings, *args: Any, **kwargs: Any) -> Any:
        return plain(self._fill(), *args, **kwargs)

    method.__name__ = name
    method.__doc__ = plain.__doc__
    return method


for _name in (
    *("__getitem__", "__setitem__", "__delitem__", "__contains__", "__reversed__", "__add__", "__iadd__", "__mul__"),
    *("__rmul__", "__imul__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "append"),
    *("clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"),
):
    setattr(LazyEncodings, _name, _filled(_name))
