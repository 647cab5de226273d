"""xgrammar: what it reads of a tokenizer, and masks by a schema."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("xgrammar",))


def tasks(kit: Kit) -> Tasks:
    import xgrammar
    from transformers import AutoTokenizer

    schema = '{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}'
    for name in ("llama3", "gpt2", "llama2"):
        tokenizer = AutoTokenizer.from_pretrained(kit.directory(name))
        yield (
            f"TokenizerInfo, {name}",
            lambda tokenizer=tokenizer: xgrammar.TokenizerInfo.from_huggingface(tokenizer).dump_metadata(),
        )
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer)
        yield f"vocabulary, {name}", lambda info=info: [len(info.decoded_vocab), info.decoded_vocab[:3000]]
        compiled = xgrammar.GrammarCompiler(info, max_threads=1).compile_json_schema(schema)

        def masks(info=info, compiled=compiled, tokenizer=tokenizer):
            matcher = xgrammar.GrammarMatcher(compiled)
            mask = xgrammar.allocate_token_bitmask(1, info.vocab_size)
            said = []
            for token in tokenizer.encode('{"a": 123, "b": "déjà vu"}', add_special_tokens=False):
                matcher.fill_next_token_bitmask(mask)
                said.append([mask[0].numpy().tobytes(), matcher.accept_token(token)])
            return said

        yield f"masks, {name}", masks
