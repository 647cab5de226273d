"""dspy: programs over litellm, whose answers and usage a provider in this process counts with a tokenizer."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("dspy",),
    install=("transformers", "tokenizers", "tiktoken"),
    environ={"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    note="dspy counts through litellm; objects of its own take the time",
)


def tasks(kit: Kit) -> Tasks:
    import dspy
    import litellm
    import numpy
    from transformers import AutoTokenizer

    texts = kit.texts(40, 1500)
    tokenizer = AutoTokenizer.from_pretrained(kit.directory("llama3"))

    class Provider(litellm.CustomLLM):
        def completion(self, model, messages, **_):
            prompt = tokenizer.apply_chat_template(messages, tokenize=True)
            ids = prompt["input_ids"] if hasattr(prompt, "keys") else prompt
            said = tokenizer.decode(tokenizer.encode("[[ ## answer ## ]]\ndéjà vu\n\n[[ ## completed ## ]]"))
            said = said.removeprefix(tokenizer.bos_token or "")
            return litellm.ModelResponse(
                model=model,
                choices=[{"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}],
                usage={"prompt_tokens": len(ids), "completion_tokens": 9, "total_tokens": len(ids) + 9},
            )

    litellm.custom_provider_map = [{"provider": "local", "custom_handler": Provider()}]
    litellm.utils.custom_llm_setup()
    lm = dspy.LM("local/model", cache=False)
    dspy.configure(lm=lm, track_usage=True)
    predict = dspy.Predict("question -> answer")

    def predictions():
        made = [predict(question=text) for text in texts[:10]]
        return [[each.answer, {k: v["prompt_tokens"] for k, v in each.get_lm_usage().items()}] for each in made]

    yield "Predict and its usage", predictions
    yield "litellm.token_counter", lambda: [litellm.token_counter(model="gpt-4o", text=text) for text in texts]

    def vectors(batch):
        ids = tokenizer(list(batch), truncation=True, max_length=64, padding="max_length")["input_ids"]
        return numpy.cos(numpy.array(ids, "float32"))

    yield "Embedder", lambda: dspy.Embedder(vectors, batch_size=20, caching=False)(texts)
    search = dspy.retrievers.Embeddings(corpus=texts, embedder=dspy.Embedder(vectors, caching=False), k=3)
    yield "retrievers.Embeddings", lambda: search(texts[3][:200]).passages
