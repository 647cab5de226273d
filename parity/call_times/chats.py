"""Time a turn of a conversation: `python -m parity.call_times.chats [NAME ...]` prints a table.

The calls alternate between a history and the same history with two more messages, as a server or an editor sends it.
The table has stock's ``apply_chat_template``, ours, and `crayon_hf.Chat`: medians of processor time. NAME is a
vocabulary of ``CRAYON_SHARED``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

from crayon_hf.util.markdown import table_lines

from .timing import beside, print_conditions, vocabularies_of

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TURNS = (2, 10, 100)
SAID = "That is what it said: the quick brown fox, jumps over 12 lazy dogs, and then it rests. "  # prose: is what


def history(turns: int) -> list[dict[str, str]]:
    """Return a conversation: a system message, then `turns` different messages of about 500 characters."""
    messages = [{"role": "system", "content": "You are a helpful assistant."}]
    for i in range(turns):
        messages.append({"role": ("user", "assistant")[i % 2], "content": f"{i}: " + SAID * 6})
    return messages


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m parity.call_times.chats", description=__doc__)
    parser.add_argument("names", nargs="*", default=["llama3", "qwen"], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each call (%(default)s)")
    options = parser.parse_args(argv)
    import transformers

    import crayon_hf

    root = vocabularies_of(parser)
    warnings.simplefilter("ignore", crayon_hf.DelegatedWarning)
    print_conditions("transformers", "tokenizers")

    def rows() -> Iterator[list[str]]:
        for name in options.names:
            path = root / name
            kinds = transformers.AutoTokenizer, crayon_hf.AutoTokenizer
            stock, ours = (kind.from_pretrained(path, local_files_only=True) for kind in kinds)
            for turns in TURNS:
                yield row(name, turns, stock, ours, options.rounds)

    heads = ("vocabulary", "turns", "tokens", "stock", "ours", "`Chat`", "of that, rendering")
    for line in table_lines(heads, rows(), numbers=6):
        print(line, flush=True)
    return 0


def row(name: str, turns: int, stock: Any, ours: Any, rounds: int) -> list[str]:
    """Return the table's row for one vocabulary and one length of conversation.

    Raise AssertionError if our ids differ.
    """
    from crayon_hf import Chat

    chat = Chat(ours, chat_template=TEMPLATE)
    histories = [history(turns), history(turns + 2)]

    def whole(tokenizer: Any, **options: Any) -> Callable[[Any], Any]:
        return lambda messages: tokenizer.apply_chat_template(messages, chat_template=TEMPLATE, **options)

    for messages in histories * 2:
        if not chat.ids(messages) == whole(stock)(messages)["input_ids"] == whole(ours)(messages)["input_ids"]:
            raise AssertionError(f"{name}: other ids than stock's with {len(messages)} messages")

    def alternating(call: Callable[[Any], Any]) -> Callable[[], Any]:
        each = cycle(histories)
        return lambda: call(next(each))

    calls = [whole(ours), chat.ids, whole(ours, tokenize=False)]
    timed = [beside(alternating(whole(stock)), alternating(call), rounds) for call in calls]
    both = [f"{one.ours / 1e6:.3f} ms, {one.stock / one.ours:.0f}x" for one in timed[:2]]
    stock_ms, rendering = f"{timed[0].stock / 1e6:.2f} ms", f"{timed[2].ours / 1e6:.3f} ms"
    return [name, str(turns), f"{chat.count(histories[0]):,}", stock_ms, *both, rendering]


if __name__ == "__main__":
    raise SystemExit(main())
