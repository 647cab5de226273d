"""torchtune: its tokenizers over tokenizer.json and over tiktoken's ranks, chats, and packed datasets."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("torchtune",),
    ("torchao==0.10.0",),
    install=("tokenizers", "tiktoken"),
)


def tasks(kit: Kit) -> Tasks:
    import os
    import shutil

    from torchtune.data import Message
    from torchtune.datasets import PackedDataset
    from torchtune.models.llama3 import llama3_tokenizer
    from torchtune.modules.transforms.tokenizers import HuggingFaceBaseTokenizer

    texts = kit.texts(60)
    home = kit.directory("llama3")
    files = {"tokenizer_config_json_path": f"{home}/tokenizer_config.json"}
    plain = HuggingFaceBaseTokenizer(f"{home}/tokenizer.json", **files)
    yield "HuggingFaceBaseTokenizer.encode", lambda: [plain.encode(text) for text in texts]
    ids = [plain.encode(text) for text in texts]
    yield "HuggingFaceBaseTokenizer.decode", lambda: [plain.decode(each) for each in ids]
    messages = [
        Message(role="user", content=texts[0][:500]),
        Message(role="assistant", content=texts[1][:500], eot=True),
    ]
    rows = [{"tokens": each, "labels": each} for each in ids]
    yield "PackedDataset", lambda: PackedDataset(rows, max_seq_len=2048, split_across_pack=True).packs
    ranks = os.path.join(os.environ.get("CRAYON_SHARED", ""), "vocab", "cl100k_base", "cl100k_base.tiktoken")
    if os.path.isfile(ranks):
        shutil.copy(ranks, "tokenizer.model")
        llama = llama3_tokenizer("tokenizer.model", max_seq_len=4096)
        yield "llama3_tokenizer, ranks", lambda: [llama.encode(text) for text in texts]
        yield "llama3_tokenizer, messages", lambda: llama.tokenize_messages(messages)
        llama_ids = [llama.encode(text) for text in texts]
        yield "llama3_tokenizer.decode", lambda: [llama.decode(each) for each in llama_ids]
