"""haystack-ai: documents cut by tokens and counted, both with tiktoken."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("haystack-ai", "tiktoken"), install=("tiktoken",))


def tasks(kit: Kit) -> Tasks:
    from haystack import Document
    from haystack.components.preprocessors import RecursiveDocumentSplitter
    from haystack.dataclasses import ChatMessage
    from haystack.token_counters import TiktokenCounter

    if not kit.has_rank_files:
        return
    documents = [Document(content=text) for text in kit.texts(4, 10_000)]
    splitter = RecursiveDocumentSplitter(
        split_length=200, split_overlap=20, split_unit="token", separators=["\n\n", "\n", " "]
    )
    splitter.warm_up()
    yield (
        "RecursiveDocumentSplitter by tokens",
        lambda: [(each.content, each.meta["split_id"]) for each in splitter.run(documents)["documents"]],
    )
    counter = TiktokenCounter()
    messages = [ChatMessage.from_user(document.content) for document in documents]
    yield "TiktokenCounter", lambda: counter.count(messages)
