"""guidance: its engine on a transformers model, with a grammar."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("guidance", "transformers<5"),
    note="with transformers 4: 5 crops its caches otherwise, so `gen` fails",
)


def tasks(kit: Kit) -> Tasks:
    from guidance import gen, select
    from guidance.models import Transformers
    from guidance.models._transformers import TransformersTokenizer
    from transformers import AutoModelForCausalLM, AutoTokenizer

    for name in ("gpt2", "llama3", "llama2"):
        tokenizer = AutoTokenizer.from_pretrained(kit.directory(name))
        yield (
            f"TransformersTokenizer, {name}",
            lambda tokenizer=tokenizer: [
                (made := TransformersTokenizer(tokenizer, None)).encode("déjà vu, 123".encode()),
                made.tokens[:2000] if hasattr(made, "tokens") else None,
                made.recode(made.encode(b"Hello, world!")),
            ],
        )
    tokenizer = AutoTokenizer.from_pretrained(kit.model("gpt2"))
    model = AutoModelForCausalLM.from_pretrained(kit.model("gpt2"))
    lm = Transformers(model, tokenizer, echo=False)

    def program():
        it = lm + "A number: " + gen("number", regex="[0-9]{1,4}") + ". A word: " + select(["yes", "no"], name="word")
        return [it["number"], it["word"], str(it)]

    yield "gen and select", program
