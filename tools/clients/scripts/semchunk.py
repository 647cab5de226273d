"""semchunk: chunks at the best separator that keeps them short enough."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("semchunk",), install=("transformers", "tiktoken"), how="`install(tiktoken=True)`, object passed")


def tasks(kit: Kit) -> Tasks:
    import semchunk
    import tiktoken
    from transformers import AutoTokenizer

    texts = kit.texts(4, 10_000)
    kinds = {
        "transformers": AutoTokenizer.from_pretrained(kit.directory("llama3")),
        "tokenizers": kit.tokenizer_class().from_file(kit.file("bert-cased")),
    }
    if kit.has_rank_files:
        kinds["tiktoken"] = tiktoken.get_encoding("cl100k_base")
    for name, tokenizer in kinds.items():
        chunker = semchunk.chunkerify(tokenizer, 200, memoize=False)
        yield f"chunks and offsets, {name}", lambda chunker=chunker: chunker(texts, offsets=True)
