"""onnxruntime-extensions: a tokenizer of transformers made a graph, which ONNX Runtime runs."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("onnxruntime-extensions", "onnxruntime", "onnx", "transformers<5"),
    note="with transformers 4, whose attributes it reads; it takes the vocabulary once, from then on its own kernels "
    "encode; of roberta-base and t5-small it wants the slow classes",
)


def tasks(kit: Kit) -> Tasks:
    import numpy
    from onnxruntime_extensions import OrtPyFunction, gen_processing_models
    from transformers import AutoTokenizer

    texts = kit.texts(20, 400)
    opened = {}
    for name in ("gpt2", "bert-cased", "llama2", "roberta-base", "t5-small"):

        def made(name=name):
            opened[name] = AutoTokenizer.from_pretrained(kit.directory(name))
            encode = OrtPyFunction(gen_processing_models(opened[name], pre_kwargs={"WITH_DEFAULT_INPUTS": True})[0])
            return [[numpy.asarray(each) for each in encode([text])] for text in texts]

        yield f"gen_processing_models, {name}", made
