"""llama-index-core: documents to nodes, cut by tokens; memory of a chat and prompts that are cut to a limit."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("llama-index-core",),
    install=("transformers", "tiktoken"),
    how="`install(tiktoken=True)`, object passed",
    note="SentenceSplitter spends most of its time in NLTK and in objects",
)


def tasks(kit: Kit) -> Tasks:
    from llama_index.core import Document, set_global_tokenizer
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.core.node_parser import SentenceSplitter, TokenTextSplitter
    from llama_index.core.utilities.token_counting import TokenCounter
    from llama_index.core.utils import get_tokenizer
    from transformers import AutoTokenizer

    texts = kit.texts(4, 10_000)
    tokenizer = AutoTokenizer.from_pretrained(kit.directory("llama3"))
    set_global_tokenizer(tokenizer.encode)
    for kind in (TokenTextSplitter, SentenceSplitter):
        splitter = kind(chunk_size=256, chunk_overlap=32, tokenizer=tokenizer.encode)
        yield f"{kind.__name__}", lambda splitter=splitter: [splitter.split_text(text) for text in texts]
    nodes = TokenTextSplitter(chunk_size=512)
    documents = [Document(text=text, doc_id=str(number)) for number, text in enumerate(texts)]
    yield (
        "get_nodes_from_documents",
        lambda: [
            (node.text, node.start_char_idx, node.end_char_idx) for node in nodes.get_nodes_from_documents(documents)
        ],
    )
    counter = TokenCounter(tokenizer.encode)
    messages = [ChatMessage(role="user", content=text[:800]) for text in texts]
    yield "TokenCounter", lambda: counter.estimate_tokens_in_messages(messages)
    memory = ChatMemoryBuffer.from_defaults(messages, token_limit=600, tokenizer_fn=tokenizer.encode)
    yield "ChatMemoryBuffer", lambda: [message.content for message in memory.get()]
    if kit.has_rank_files:
        set_global_tokenizer(None)  # as it is at first: tiktoken's
        encode = get_tokenizer("gpt-4o")
        splitter = TokenTextSplitter(chunk_size=256, tokenizer=encode)
        yield "TokenTextSplitter, tiktoken", lambda: [splitter.split_text(text) for text in texts]
