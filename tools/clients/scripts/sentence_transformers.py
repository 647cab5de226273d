"""sentence-transformers: texts to vectors, pairs to scores, and a step of training."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("sentence-transformers",), note="one layer of a model: with a real one its time hides the tokenizer's")


def tasks(kit: Kit) -> Tasks:
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer, losses, models
    from transformers import AutoTokenizer

    texts = kit.texts(60, 600)
    words = models.Transformer(kit.model("bert"), max_seq_length=64)
    model = SentenceTransformer(modules=[words, models.Pooling(words.get_word_embedding_dimension())], device="cpu")
    yield "encode", lambda: model.encode(texts, batch_size=25)
    yield "preprocess", lambda: dict(model.tokenize(texts))
    yield "token embeddings", lambda: model.encode(texts[:10], output_value="token_embeddings")
    scorer = CrossEncoder(kit.model("bert-classes"), max_length=64, device="cpu")
    pairs = list(zip(texts[:30], texts[30:], strict=True))
    yield "CrossEncoder.predict", lambda: scorer.predict(pairs)

    def saved():
        model.save("saved", create_model_card=False)
        return SentenceTransformer("saved", device="cpu").encode(texts[:10])

    yield "save and open", saved
    loss = losses.MultipleNegativesRankingLoss(model)

    def loss_of_pairs():
        with torch.no_grad():
            return loss([model.tokenize(texts[:16]), model.tokenize(texts[16:32])], None)

    yield "loss of pairs", loss_of_pairs
    if hasattr(models, "StaticEmbedding"):
        plain = AutoTokenizer.from_pretrained(kit.directory("llama3"))
        torch.manual_seed(2)
        static = models.StaticEmbedding(plain, embedding_dim=16)
        bag = SentenceTransformer(modules=[static], device="cpu")
        yield "StaticEmbedding", lambda: bag.encode(texts)
