"""onnxruntime-extensions: a tokenizer of transformers made a graph, which ONNX Runtime runs."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("onnxruntime-extensions", "onnxruntime", "onnx"),
    note="it reads the vocabulary once; from then on its own kernels encode",
)


def tasks(kit: Kit) -> Tasks:
    import numpy
    from onnxruntime_extensions import OrtPyFunction, gen_processing_models
    from transformers import AutoTokenizer

    texts = kit.texts(20, 400)
    for name in ("gpt2", "roberta-base", "bert-cased", "llama2", "t5-small"):

        def made(name=name):
            tokenizer = AutoTokenizer.from_pretrained(kit.directory(name))
            encode = OrtPyFunction(gen_processing_models(tokenizer, pre_kwargs={"WITH_DEFAULT_INPUTS": True})[0])
            return [[numpy.asarray(each) for each in encode([text])] for text in texts]

        yield f"gen_processing_models, {name}", made
