"""Sets the number of hypothesis examples: a quarter in README's test command, all in CI and in `make test-all`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

SHARE = 4
_init = settings.__init__


def _with_fewer(self: settings, parent: settings | None = None, **given: Any) -> None:
    if isinstance(given.get("max_examples"), int):
        given["max_examples"] = max(5, given["max_examples"] // SHARE)
    _init(self, parent, **given)


def fewer_examples() -> None:
    """From now on, divide the number of examples in hypothesis' `settings` by four. The default becomes 25."""
    setattr(settings, "__init__", _with_fewer)  # noqa: B010 - mypy has no assignment to a method
    settings.register_profile("quick", settings.get_profile("crayon"), max_examples=100)
    settings.load_profile("quick")
