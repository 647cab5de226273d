"""`Chat`: the tokens of growing conversations, and the latest messages that fit a budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from crayon_hf.budgets.appender import Appender
from crayon_hf.budgets.calls import budget, count_tokens, truncate_text
from crayon_hf.budgets.holders import engine_of

Message = dict[str, Any]

_HEAD = ("system", "developer")
_OF_ENCODING = {
    *("max_length", "padding", "return_assistant_tokens_mask", "return_dict", "return_tensors"),
    *("sanitize_control_tokens", "tokenize", "tokenizer_kwargs", "truncation"),
}


class Chat:
    """The token ids of a growing conversation. Unchanged turns are not encoded again.

    Every result equals that of the tokenizer's ``apply_chat_template`` on the same messages. The template is compiled
    once and rendered completely at each call, because it may use any message. The text is encoded from the first
    character that differs from the last call. Not thread-safe.

    >>> chat = crayon_hf.Chat(crayon_hf.AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B-Instruct"))  # doctest: +SKIP
    >>> messages = [{"role": "user", "content": "Which of these is a fruit?"}]  # doctest: +SKIP
    >>> ids = chat.ids(messages, add_generation_prompt=True)  # doctest: +SKIP
    >>> messages.append({"role": "assistant", "content": "The second."})  # doctest: +SKIP
    >>> ids = chat.ids(messages)  # encodes the answer alone  # doctest: +SKIP
    >>> recent = chat.window(messages, max_tokens=4000, add_generation_prompt=True)  # doctest: +SKIP
    """

    def __init__(self, tokenizer: Any, **options: Any) -> None:
        """Prepare a chat for a tokenizer.

        Args:
            tokenizer: One from `AutoTokenizer`, or a tokenizer of transformers after `install`.
            **options: Rendering options of ``apply_chat_template`` for every call: ``tools``, ``documents``,
                ``chat_template``, variables of the template. The options of a call override them.

        Raises:
            TypeError: The tokenizer has no ``apply_chat_template``, or an option is not about rendering.
        """
        if not callable(getattr(tokenizer, "apply_chat_template", None)):
            raise TypeError(
                f"tokenizer is {type(tokenizer).__name__}, which has no chat template: "
                "expected a tokenizer from crayon_hf.AutoTokenizer"
            )
        self._tokenizer = tokenizer
        self._options = _rendering(options)
        self._encoding = engine_of(tokenizer)
        self._appender = Appender(tokenizer)

    def render(self, messages: Sequence[Message], **options: Any) -> str:
        """The text of a conversation: ``apply_chat_template(messages, tokenize=False, **options)``."""
        options = {**self._options, **_rendering(options), "tokenize": False}
        text: str = self._tokenizer.apply_chat_template(messages, **options)
        if not isinstance(text, str):
            raise TypeError("messages is a list of conversations, expected one conversation")
        return text

    def ids(self, messages: Sequence[Message], **options: Any) -> list[int]:
        """The ids of a conversation: ``apply_chat_template(messages, **options)["input_ids"]``.

        `options` are rendering options: ``add_generation_prompt``, ``continue_final_message``, ``tools``...
        """
        self._set(self.render(messages, **options))
        return self._appender.ids

    def count(self, messages: Sequence[Message], **options: Any) -> int:
        """The number of ids of a conversation."""
        self._set(self.render(messages, **options))
        return self._appender.count

    def ids_and_mask(self, messages: Sequence[Message], **options: Any) -> tuple[list[int], list[int]]:
        """The ids of a conversation, and a mask with 1 for each id of the assistant's text, else 0.

        The template must mark the assistant's text with ``{% generation %}``. The whole conversation is encoded.
        """
        asked = {"return_assistant_tokens_mask": True, "return_dict": True, "tokenize": True}
        whole = self._tokenizer.apply_chat_template(messages, **{**self._options, **_rendering(options), **asked})
        return whole["input_ids"], whole["assistant_masks"]

    def window(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        *,
        start_on: str | None = "user",
        cut: bool = False,
        **options: Any,
    ) -> list[Message]:
        """The latest messages that have at most `max_tokens` tokens together, including the template and tools.

        Args:
            messages: The conversation. System (developer) messages at its beginning are always kept.
            max_tokens: The budget.
            start_on: The role that the kept messages begin with, as most templates require; None for any.
            cut: Also keep the turn before these messages, with its first message's text cut to the end that fits.
            **options: As for `ids`.

        Returns:
            The kept messages. The search assumes that more messages have more tokens.

        Raises:
            ValueError: Even the last messages do not fit, or no message can begin the window.
        """
        most = budget(max_tokens, "max_tokens")
        messages = list(messages)
        head = next((i for i, message in enumerate(messages) if message.get("role") not in _HEAD), len(messages))
        starts = [i for i in range(head, len(messages)) if start_on in (None, messages[i].get("role"))]
        if not starts:
            wanted = "message" if start_on is None else f"message of the role {start_on!r}"
            raise ValueError(f"messages have no {wanted} after the system message, so no window can begin")

        def window(start: int) -> list[Message]:
            return messages[:head] + messages[start:]

        def fits(conversation: list[Message]) -> bool:
            return self._count_to(conversation, most, options) <= most

        if fits(window(starts[0])):
            return window(starts[0])
        first = bisect_left(starts, True, lo=1, key=lambda start: fits(window(start)))
        if cut:
            shortened = self._with_end_of(window(starts[first - 1]), head, most, options)
            if shortened is not None:
                return shortened
        if first == len(starts):
            least = self.count(window(starts[-1]), **options)
            raise ValueError(f"max_tokens is {most}: the last messages alone have {least} tokens")
        return window(starts[first])

    def _with_end_of(
        self, conversation: list[Message], at: int, most: int, options: dict[str, Any]
    ) -> list[Message] | None:
        """Return the conversation with the text of message `at` cut to the end that fits, or None if no part fits."""
        content = conversation[at].get("content")
        if not isinstance(content, str):
            return None

        def with_end(end: str) -> list[Message]:
            return [*conversation[:at], {**conversation[at], "content": end}, *conversation[at + 1 :]]

        around = self._count_to(with_end(""), most, options)
        for tokens in range(most - around + 2, 0, -1):  # the text may have one token less in the chat than alone
            end = truncate_text(self._tokenizer, content, tokens, "left", add_special_tokens=False)
            if end and self._count_to(with_end(end), most, options) <= most:
                return with_end(end)
        return None

    def _count_to(self, conversation: list[Message], limit: int, options: dict[str, Any]) -> int:
        text = self.render(conversation, **options)
        return count_tokens(self._tokenizer, text, add_special_tokens=False, limit=limit)

    def _set(self, text: str) -> None:
        encoding = engine_of(self._tokenizer)
        if encoding != self._encoding:  # the tokenizer has changed since the last call
            self._encoding, self._appender = encoding, Appender(self._tokenizer)
        old = self._appender.text
        same = _common_prefix(old, text)
        self._appender.pop(len(old) - same)
        self._appender.append(text[same:])


def _rendering(options: dict[str, Any]) -> dict[str, Any]:
    """Return `options`. Raises TypeError for an option of ``apply_chat_template`` that is not about rendering."""
    other = sorted(_OF_ENCODING.intersection(options))
    if other:
        raise TypeError(f"{', '.join(other)}: not an option of Chat; call apply_chat_template with it")
    return options


def _common_prefix(one: str, other: str) -> int:
    """The length of the common prefix of two texts, by binary search."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
