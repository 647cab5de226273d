"""litellm: tokens counted for a model, with tiktoken and with a tokenizer.json."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("litellm",), install=("tokenizers", "tiktoken"), environ={"LITELLM_LOCAL_MODEL_COST_MAP": "True"})


def tasks(kit: Kit) -> Tasks:
    import litellm

    texts = kit.texts(50)
    messages = [{"role": "user", "content": text} for text in texts]
    yield "token_counter, gpt-4", lambda: [litellm.token_counter(model="gpt-4", text=text) for text in texts]
    yield "token_counter, messages", lambda: litellm.token_counter(model="gpt-4o", messages=messages)
    yield (
        "encode, decode",
        lambda: [litellm.decode(model="gpt-4", tokens=litellm.encode(model="gpt-4", text=text)) for text in texts],
    )
    with open(kit.file("llama3"), encoding="utf-8") as file:
        custom = litellm.create_tokenizer(file.read())
    yield "custom tokenizer", lambda: [litellm.token_counter(custom_tokenizer=custom, text=text) for text in texts]
    yield "trim_messages", lambda: litellm.utils.trim_messages(list(messages[:20]), model="gpt-4", max_tokens=2000)
