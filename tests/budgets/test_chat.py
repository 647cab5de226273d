"""`Chat` against ``apply_chat_template``: a conversation that continues, changes and is cut."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
import transformers

from crayon_hf import AutoTokenizer, Chat, Tokenizer

CHATML = (
    "{% for message in messages %}<|begin_of_text|>{{ message.role }}\n{{ message.content }}<|eot_id|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|begin_of_text|>assistant\n{% endif %}"
)
TEMPLATES = {
    "all alike": CHATML,
    "marked": (
        "{% for message in messages %}<|begin_of_text|>{{ message.role }}\n"
        "{% if message.role == 'assistant' %}{% generation %}{{ message.content }}<|eot_id|>{% endgeneration %}"
        "{% else %}{{ message.content }}<|eot_id|>{% endif %}\n{% endfor %}"
    ),
    "the past is shortened": (  # some templates drop reasoning from all turns but the last
        "{{ tools | length if tools else '' }}{% for message in messages %}{{ message.role }}: "
        "{% if loop.last %}{{ message.content }}{% else %}{{ message.content[:9] | trim }}{% endif %}<|eot_id|>"
        "{% endfor %}"
    ),
    "in turns": (
        "{% if messages[0].role == 'system' %}{% set system, rest = messages[0].content, messages[1:] %}"
        "{% else %}{% set system, rest = '', messages %}{% endif %}"
        "{% for message in rest %}{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must take turns') }}{% endif %}"
        "{% if message.role == 'user' %}[INST] {{ system if loop.first }} {{ message.content }} [/INST]"
        "{% else %} {{ message.content }}<|eot_id|>{% endif %}{% endfor %}"
    ),
}
SAID = [
    *("Hello", " the fox", "", "déjà vu", "<|eot_id|>", "line\n\nline ", "  ", "狐 jumps", "e\u0301", "1234567"),
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
]


@pytest.fixture(scope="module")
def repository(llama3_like: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("chat")
    shutil.copy(llama3_like, directory / "tokenizer.json")
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": CHATML, "eos_token": "<|end_of_text|>"}
    (directory / "tokenizer_config.json").write_text(json.dumps(config))
    return directory


@pytest.fixture(scope="module")
def tokenizer(repository: Path) -> Any:
    return AutoTokenizer.from_pretrained(repository)


@pytest.fixture(scope="module")
def stock(repository: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(repository)


def said(random: Random) -> str:
    return "".join(random.choices(SAID, k=random.randint(0, 6)))


def conversation(random: Random, turns: int) -> list[dict[str, Any]]:
    messages = [{"role": "system", "content": said(random)}] * random.randint(0, 1)
    return messages + [{"role": ("user", "assistant")[i % 2], "content": said(random)} for i in range(turns)]


def changed(random: Random, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A random change of a conversation: it continues, or the user edits it, takes back messages, or begins anew."""
    messages = [dict(message) for message in messages]
    what = random.randrange(5)
    if what == 0 and len(messages) > 2:
        del messages[-random.randint(1, 2) :]
    elif what == 1:
        random.choice(messages)["content"] = said(random)
    elif what == 2:
        return conversation(random, random.randint(1, 6))
    else:
        last = messages[-1]["role"]
        messages.append({"role": "assistant" if last == "user" else "user", "content": said(random)})
    return messages


def ids_of(stock: Any, messages: list[Any], template: str | None = None, **options: Any) -> list[int]:
    """The ids of ``apply_chat_template`` in transformers, versions 4 and 5."""
    made = stock.apply_chat_template(messages, chat_template=template, return_dict=True, **options)
    ids: list[int] = made["input_ids"]
    return ids


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_conversation_that_changes(name: str, tokenizer: Any, stock: Any) -> None:
    random = Random(name)
    chat = Chat(tokenizer, chat_template=TEMPLATES[name])
    messages = conversation(random, 2)
    for _ in range(150):
        options: dict[str, Any] = {"add_generation_prompt": random.random() < 0.5}
        if random.random() < 0.2:
            options["tools"] = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
        elif random.random() < 0.3 and messages[-1]["content"].strip():
            options = {"continue_final_message": True}
        want = ids_of(stock, messages, TEMPLATES[name], **options)
        assert chat.ids(messages, **options) == want
        assert chat.count(messages, **options) == len(want)
        messages = changed(random, messages)


def test_the_mask_of_what_the_assistant_says(tokenizer: Any, stock: Any) -> None:
    random = Random(1)
    chat = Chat(tokenizer, chat_template=TEMPLATES["marked"])
    for _ in range(40):
        messages = conversation(random, random.randint(1, 6))
        want = stock.apply_chat_template(
            messages, chat_template=TEMPLATES["marked"], return_assistant_tokens_mask=True, return_dict=True
        )
        assert chat.ids_and_mask(messages) == (want["input_ids"], want["assistant_masks"])
        assert chat.ids(messages) == want["input_ids"]


def fitting(stock: Any, template: str, messages: list[Any], head: int, starts: list[int], most: int) -> int | None:
    """The plain twin of `Chat.window`: the first of `starts` from which the messages, after the first `head` messages,
    have at most `most` tokens."""
    fits = (start for start in starts if len(ids_of(stock, messages[:head] + messages[start:], template)) <= most)
    return next(fits, None)


@pytest.mark.parametrize("name", ["all alike", "in turns"])
@pytest.mark.parametrize("cut", [False, True])
def test_windows(name: str, cut: bool, tokenizer: Any, stock: Any) -> None:
    random = Random(name)
    template = TEMPLATES[name]
    chat = Chat(tokenizer, chat_template=template)
    cuts = 0
    for _ in range(120):
        messages = conversation(random, random.randint(1, 9))
        head = int(messages[0]["role"] == "system")
        start_on = None if name == "all alike" and random.random() < 0.4 else "user"
        starts = [i for i in range(head, len(messages)) if start_on is None or messages[i]["role"] == start_on]
        most = random.randint(4, 160)
        first = fitting(stock, template, messages, head, starts, most)
        try:
            window = chat.window(messages, most, start_on=start_on, cut=cut)
        except ValueError:
            assert first is None
            continue
        assert chat.count(window) <= most
        whole = [] if first is None else messages[:head] + messages[first:]
        if window == whole:
            continue
        cuts += 1  # the first kept message lost only as much of its beginning as necessary
        at = len(messages) - len(window) + head
        before, kept = messages[at]["content"], window[head]["content"]
        assert cut
        assert len(window) > len(whole)
        assert (window[:head], window[head + 1 :]) == (messages[:head], messages[at + 1 :])
        assert before.endswith(kept)
        assert 0 < len(kept) < len(before)
        if len(before) > len(kept) + 8:
            longer = {**messages[at], "content": before[-len(kept) - 8 :]}
            assert chat.count([*window[:head], longer, *window[head + 1 :]]) > most
    assert bool(cuts) == cut


def test_a_tokenizer_that_changes(repository: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(repository)
    chat = Chat(tokenizer)
    messages = [{"role": "user", "content": "Hello, Hello the fox <|eot_id|>"}, {"role": "user", "content": "déjà"}]

    def check() -> None:
        wanted = ids_of(tokenizer, messages)
        assert (chat.ids(messages), chat.count(messages)) == (wanted, len(wanted))
        last = len(ids_of(tokenizer, messages[1:]))
        with pytest.raises(ValueError, match=f"the last messages alone have {last} tokens"):
            chat.window(messages, last - 1)

    check()
    tokenizer.add_tokens(["fox", "éj"])
    check()
    tokenizer.split_special_tokens = True
    check()


def test_what_is_no_chat(tokenizer: Any, gpt2_like: Path) -> None:
    with pytest.raises(TypeError, match="Tokenizer, which has no chat template"):
        Chat(Tokenizer.from_file(gpt2_like))
    with pytest.raises(TypeError, match="return_tensors: not an option of Chat"):
        Chat(tokenizer, return_tensors="np")
    chat = Chat(tokenizer)
    message = {"role": "user", "content": "Hello"}
    with pytest.raises(TypeError, match="max_length, truncation: not an option"):
        chat.ids([message], truncation=True, max_length=3)
    with pytest.raises(TypeError, match="one conversation"):
        chat.ids([[message], [message]])  # type: ignore[list-item]
    with pytest.raises((ValueError, IndexError)):  # transformers 5; 4
        chat.ids([])
    with pytest.raises(ValueError, match="no message of the role 'user'"):
        chat.window([{"role": "assistant", "content": "Hello"}], 100)
    with pytest.raises(ValueError, match=r"max_tokens is -1"):
        chat.window([message], -1)
    with pytest.raises(ValueError, match="max_tokens is 2"):
        chat.window([message], 2, cut=True)
    parts = {"role": "user", "content": [{"type": "text", "text": "a long text " * 9}]}
    assert chat.window([parts, message], 40, cut=True) == [message]  # parts are kept whole or dropped
    assert chat.ids([message]) == ids_of(tokenizer, [message])
