"""llguidance: masks of tokens by a grammar; its tokenizer is made of ours."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("llguidance",),
    install=("transformers", "tiktoken"),
    note="it takes the tokenizer's JSON, or tiktoken's ranks, once; from then on its own Rust encodes",
)


def tasks(kit: Kit) -> Tasks:
    import llguidance
    import llguidance.hf
    import llguidance.tiktoken
    import tiktoken
    from transformers import AutoTokenizer

    schema = '{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}'

    def steps(made, encode):
        grammar = llguidance.LLMatcher.grammar_from_json_schema(schema)
        matcher = llguidance.LLMatcher(made, grammar)
        said = []
        for token in encode('{"a": 123, "b": "déjà vu"}'):
            said.append(matcher.compute_bitmask().hex())
            said.append(matcher.consume_token(token))
        return [said, matcher.get_error(), matcher.is_accepting()]

    texts = kit.texts(20)
    for name in ("llama3", "gpt2"):
        tokenizer = AutoTokenizer.from_pretrained(kit.directory(name))
        yield (
            f"from_tokenizer, {name}",
            lambda tokenizer=tokenizer: [
                llguidance.hf.from_tokenizer(tokenizer).tokenize_str(text) for text in texts[:1]
            ],
        )
        made = llguidance.hf.from_tokenizer(tokenizer)
        yield f"tokenize_str, {name}", lambda made=made: [made.tokenize_str(text) for text in texts]

        def matched(made=made, tokenizer=tokenizer):
            return steps(made, lambda text: tokenizer.encode(text, add_special_tokens=False))

        yield f"masks, {name}", matched
    if kit.has_rank_files:
        encoding = tiktoken.get_encoding("o200k_base")
        made = llguidance.tiktoken.lltokenizer_from_encoding(encoding)
        yield "masks, tiktoken", lambda: steps(made, encoding.encode)
