"""langchain-text-splitters: texts cut by the number of their tokens."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("langchain-text-splitters",),
    install=("transformers", "tiktoken"),
)


def tasks(kit: Kit) -> Tasks:
    from langchain_text_splitters import CharacterTextSplitter, RecursiveCharacterTextSplitter, TokenTextSplitter
    from transformers import AutoTokenizer

    texts = kit.texts(4, 10_000)
    sizes = {"chunk_size": 200, "chunk_overlap": 20}
    for name in ("llama3", "bert-cased"):
        tokenizer = AutoTokenizer.from_pretrained(kit.directory(name))
        recursive = RecursiveCharacterTextSplitter.from_huggingface_tokenizer(tokenizer, **sizes)
        yield f"recursive, {name}", lambda split=recursive: [split.split_text(text) for text in texts]
    lines = CharacterTextSplitter.from_huggingface_tokenizer(tokenizer, separator="\n", **sizes)
    yield "by lines", lambda: [lines.split_text(text) for text in texts]
    tokens = TokenTextSplitter(encoding_name="cl100k_base", **sizes)
    yield "TokenTextSplitter, tiktoken", lambda: [tokens.split_text(text) for text in texts]
    counted = RecursiveCharacterTextSplitter.from_tiktoken_encoder("o200k_base", **sizes)
    yield "recursive, tiktoken", lambda: [counted.split_text(text) for text in texts]
