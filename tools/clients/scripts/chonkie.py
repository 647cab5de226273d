"""chonkie: chunks by tokens, sentences and rules."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("chonkie",), install=("transformers", "tokenizers", "tiktoken"))


def tasks(kit: Kit) -> Tasks:
    import tiktoken
    from chonkie import RecursiveChunker, SentenceChunker, TokenChunker
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    texts = kit.texts(4, 10_000)
    kinds = {
        "transformers": AutoTokenizer.from_pretrained(kit.directory("llama3")),
        "tokenizers": Tokenizer.from_file(kit.file("bert-cased")),
    }
    if kit.has_rank_files:
        kinds["tiktoken"] = tiktoken.get_encoding("cl100k_base")
    for name, tokenizer in kinds.items():
        for kind in (TokenChunker, SentenceChunker, RecursiveChunker):
            chunker = kind(tokenizer, chunk_size=256)
            yield (
                f"{kind.__name__}, {name}",
                lambda chunker=chunker: [
                    [(chunk.text, chunk.start_index, chunk.end_index, chunk.token_count) for chunk in chunker(text)]
                    for text in texts
                ],
            )
