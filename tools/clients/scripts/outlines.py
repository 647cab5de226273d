"""outlines: its wrapper of transformers' tokenizers, and generation by a pattern and by a schema with each backend."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("outlines[transformers]", "outlines_core", "llguidance", "xgrammar"))


def tasks(kit: Kit) -> Tasks:
    import outlines
    from outlines.models.transformers import TransformerTokenizer
    from outlines.types import Regex
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(kit.model("gpt2"))
    model = outlines.from_transformers(AutoModelForCausalLM.from_pretrained(kit.model("gpt2")), tokenizer)
    wrapped = TransformerTokenizer(tokenizer)
    texts = kit.texts(50)
    tokens = sorted(wrapped.vocabulary)[:3000]
    yield "TransformerTokenizer.encode, decode", lambda: wrapped.decode(wrapped.encode(texts[0])[0][0][None])
    yield (
        "convert_token_to_string",
        lambda: [wrapped.convert_token_to_string(token) for token in tokens],
    )
    again = TransformerTokenizer(AutoTokenizer.from_pretrained(kit.model("gpt2")))
    other = TransformerTokenizer(AutoTokenizer.from_pretrained(kit.model("llama")))
    yield "equal tokenizers", lambda: [wrapped == again, hash(wrapped) == hash(again), wrapped == other]
    for backend in ("outlines_core", "llguidance", "xgrammar"):

        def generate(backend=backend):
            generator = outlines.Generator(model, Regex(r"[a-z]{3,9} [0-9]{2}"), backend=backend)
            return generator("The answer is ", max_new_tokens=12, do_sample=False, pad_token_id=50256)

        yield f"a pattern with {backend}", generate
