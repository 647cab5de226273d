"""mteb: tasks of retrieval and of similarity, on a sentence-transformers model and on documents made here."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("mteb",), note="one layer of a model: with a real one its time hides the tokenizer's")


def tasks(kit: Kit) -> Tasks:
    import mteb
    from datasets import Dataset, DatasetDict
    from sentence_transformers import SentenceTransformer, models

    texts = kit.texts(80, 600)
    words = models.Transformer(kit.model("bert"), max_seq_length=64)
    model = SentenceTransformer(modules=[words, models.Pooling(words.get_word_embedding_dimension())], device="cpu")

    def scores(name, data):
        task = mteb.get_task(name)
        task.dataset = data
        task.data_loaded = True
        task.load_data = lambda *_, **__: None
        result = mteb.evaluate(model, task, cache=None, overwrite_strategy="always", show_progress_bar=False)
        said = result.task_results[0].scores
        return {
            split: [{k: v for k, v in each.items() if "time" not in k} for each in rows] for split, rows in said.items()
        }

    similar = Dataset.from_dict(
        {"sentence1": texts[:40], "sentence2": texts[40:], "score": [float(number % 6) for number in range(40)]}
    )
    yield "STSBenchmark", lambda: scores("STSBenchmark", DatasetDict(test=similar))
    labels = [number % 4 for number in range(80)]
    classes = Dataset.from_dict({"text": texts, "label": labels})
    yield (
        "Banking77Classification",
        lambda: scores("Banking77Classification", DatasetDict(train=classes, test=classes)),
    )
    wrapped = (
        mteb.SentenceTransformerEncoderWrapper(model) if hasattr(mteb, "SentenceTransformerEncoderWrapper") else model
    )
    yield "similarity", lambda: model.similarity(model.encode(texts[:40]), model.encode(texts[40:]))
    assert wrapped
