"""transformers' pipelines: generation, chats, streams, labels of tokens, masks, classes and vectors."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("transformers",),
    note="one layer of a model: with a real one its time hides the tokenizer's",
    row="transformers (pipelines)",
)


def tasks(kit: Kit) -> Tasks:
    from transformers import TextStreamer, pipeline

    texts = kit.texts(30, 600)
    said = {"device": "cpu"}
    for name in ("llama", "gpt2"):
        writer = pipeline("text-generation", kit.model(name), **said)
        writer.tokenizer.pad_token = writer.tokenizer.eos_token
        short = {"max_new_tokens": 8, "do_sample": False, "batch_size": 8}
        yield (
            f"text-generation, {name}",
            lambda writer=writer, short=short: writer([text[:200] for text in texts], **short),
        )
    writer = pipeline("text-generation", kit.model("llama"), **said)
    chats = [[{"role": "user", "content": text[:200]}] for text in texts[:8]]
    yield "text-generation, chats", lambda: writer(chats, max_new_tokens=8, do_sample=False)

    def streamed():
        pieces = []

        class Streamer(TextStreamer):
            def on_finalized_text(self, text, stream_end=False):
                pieces.append(text)

        writer(texts[0][:200], max_new_tokens=40, do_sample=False, streamer=Streamer(writer.tokenizer))
        return pieces

    yield "TextStreamer", streamed
    labels = pipeline("token-classification", kit.model("bert-tokens"), **said)
    for strategy in ("none", "simple", "first", "average", "max"):
        yield (
            f"token-classification, {strategy}",
            lambda strategy=strategy: labels(texts, aggregation_strategy=strategy, batch_size=8),
        )
    yield (
        "token-classification, windows",
        lambda: pipeline(
            "token-classification",
            model=labels.model,
            tokenizer=labels.tokenizer,
            aggregation_strategy="simple",
            stride=32,
            **said,
        )(kit.texts(2, 6000)),
    )
    masks = pipeline("fill-mask", kit.model("bert-mask"), **said)
    masked = [f"{text[:100]} [MASK] {text[100:200]}" for text in texts]
    yield "fill-mask", lambda: masks(masked, top_k=3)
    yield "fill-mask, targets", lambda: masks(masked[:5], targets=["word", "river", "unheardof"])
    classes = pipeline("text-classification", kit.model("bert-classes"), **said)
    yield (
        "text-classification, pairs",
        lambda: classes(
            [{"text": a, "text_pair": b} for a, b in zip(texts[:15], texts[15:], strict=True)],
            truncation=True,
            top_k=None,
        ),
    )
    zero = pipeline("zero-shot-classification", kit.model("bert-classes"), **said)
    yield "zero-shot-classification", lambda: zero(texts[:4], candidate_labels=["a river", "a city"])
    vectors = pipeline("feature-extraction", kit.model("bert"), **said)
    yield "feature-extraction", lambda: vectors(texts[:5], tokenize_kwargs={"truncation": True, "max_length": 64})
