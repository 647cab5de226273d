"""semantic-text-splitter: a splitter in Rust, which counts by a function or by a tokenizer that it reads as JSON."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("semantic-text-splitter", "tree-sitter-python"),
    how="object passed",
    install=(),
    note="from_huggingface_tokenizer takes the tokenizer's JSON and counts with tokenizers in Rust: level",
)


def tasks(kit: Kit) -> Tasks:
    import tree_sitter_python
    from semantic_text_splitter import CodeSplitter, MarkdownSplitter, TextSplitter

    tokenizer = kit.tokenizer_class().from_file(kit.file("llama3"))
    texts, code = kit.texts(3, 10_000), kit.texts(3, 10_000, "code")

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False))

    for kind in (TextSplitter, MarkdownSplitter):
        splitter = kind.from_callback(count, 200, 20)
        yield f"{kind.__name__}.from_callback", lambda splitter=splitter: splitter.chunk_all_indices(texts)
    of_code = CodeSplitter.from_callback(tree_sitter_python.language(), count, 200)
    yield "CodeSplitter.from_callback", lambda: of_code.chunk_all(code)
    by_json = TextSplitter.from_huggingface_tokenizer(tokenizer, 200)
    yield "from_huggingface_tokenizer", lambda: by_json.chunk_all(texts)
