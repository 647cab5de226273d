"""model2vec: vectors of words of a tokenizer, and texts to vectors."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("model2vec[distill]",),
    install=("transformers", "tokenizers"),
)


def tasks(kit: Kit) -> Tasks:
    import numpy
    from model2vec import StaticModel
    from tokenizers import Tokenizer

    texts = kit.texts(100)
    for name in ("bert-cased", "llama3"):
        tokenizer = Tokenizer.from_file(kit.file(name))
        vectors = numpy.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), 16)).astype("float32")
        model = StaticModel(vectors, tokenizer)
        yield f"encode, {name}", lambda model=model: model.encode(texts)
        yield f"tokenize, {name}", lambda model=model: model.tokenize(texts)
        yield f"encode_as_sequence, {name}", lambda model=model: model.encode_as_sequence(texts[:50])

        def saved(model=model, name=name):
            model.save_pretrained(f"saved-{name}")
            return StaticModel.from_pretrained(f"saved-{name}").encode(texts[:20])

        yield f"save and open, {name}", saved
