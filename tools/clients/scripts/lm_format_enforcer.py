"""lm-format-enforcer: which tokens JSON may go on with."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("lm-format-enforcer", "transformers<5"), note="with transformers 4: it imports what 5 has no longer")


def tasks(kit: Kit) -> Tasks:
    from lmformatenforcer import JsonSchemaParser, RegexParser
    from lmformatenforcer.integrations import transformers as integration
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(kit.model("gpt2"))
    model = AutoModelForCausalLM.from_pretrained(kit.model("gpt2"))
    yield (
        "the tree of all tokens",
        lambda: sorted(integration._build_regular_tokens_list(tokenizer, len(tokenizer)))[:2000],
    )
    data = integration.build_token_enforcer_tokenizer_data(tokenizer)
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    prompt = tokenizer("The answer in JSON is ", return_tensors="pt")
    for name, parser in (("JSON", JsonSchemaParser(schema)), ("a pattern", RegexParser(r"(yes|no), because \w+"))):

        def generate(parser=parser):
            allowed = integration.build_transformers_prefix_allowed_tokens_fn(data, parser)
            ids = model.generate(
                **prompt, prefix_allowed_tokens_fn=allowed, max_new_tokens=24, do_sample=False, pad_token_id=50256
            )
            return ids, tokenizer.batch_decode(ids)

        yield f"generate {name}", generate
