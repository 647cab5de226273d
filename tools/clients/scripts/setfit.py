"""setfit: a classifier of texts from few examples."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("setfit",), note="one layer of a model: with a real one its time hides the tokenizer's")


def tasks(kit: Kit) -> Tasks:
    from sentence_transformers import SentenceTransformer, models
    from setfit import SetFitHead, SetFitModel
    from setfit.data import SetFitDataset
    from sklearn.linear_model import LogisticRegression

    texts = kit.texts(60, 600)
    words = models.Transformer(kit.model("bert"), max_seq_length=64)
    body = SentenceTransformer(modules=[words, models.Pooling(words.get_word_embedding_dimension())], device="cpu")
    model = SetFitModel(body, LogisticRegression(random_state=0), labels=["a", "b"])
    labels = [number % 2 for number in range(len(texts))]

    def fitted():
        model.fit(texts, labels, num_epochs=1, batch_size=16)
        return model.predict_proba(texts, as_numpy=True)

    yield "fit and predict", fitted
    yield "encode", lambda: model.encode(texts)
    data = SetFitDataset(texts, labels, tokenizer=body.tokenizer, max_length=64)
    yield "SetFitDataset", lambda: data.collate_fn([data[index] for index in range(len(data))])
    assert SetFitHead
