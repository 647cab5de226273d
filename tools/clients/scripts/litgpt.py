"""litgpt: its Tokenizer over a checkpoint's files, prompts, its datasets, and a stream of text."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("litgpt",),
    ("tokenizers==0.23.3", "transformers==5.23.0", "huggingface_hub==2.4.0"),
    install=("transformers", "tokenizers"),
    note="with transformers 5 and tokenizers 0.23; 0.22, which pip chooses, leaves out llama2's `<s>` in `decode`, and "
    "0.23 and ours do not",
)


def tasks(kit: Kit) -> Tasks:
    import torch
    from litgpt.data.base import SFTDataset, get_sft_collate_fn
    from litgpt.tokenizer import Tokenizer

    texts = kit.texts(100)
    for name in ("llama3", "llama2"):
        tokenizer = Tokenizer(kit.directory(name))
        yield f"encode, {name}", lambda tokenizer=tokenizer: [tokenizer.encode(text) for text in texts]
        ids = [tokenizer.encode(text) for text in texts]
        yield f"decode, {name}", lambda tokenizer=tokenizer, ids=ids: [tokenizer.decode(each) for each in ids]
        one = ids[0]
        yield (
            f"decode_stream, {name}",
            lambda tokenizer=tokenizer, one=one: list(tokenizer.decode_stream(iter(one), torch.device("cpu"))),
        )
    rows = [{"instruction": text[:300], "input": "", "output": text[300:900]} for text in texts]
    data = SFTDataset(rows, tokenizer, "alpaca", max_seq_length=256, mask_prompt=True)
    collate = get_sft_collate_fn(max_seq_length=256)
    yield "SFTDataset", lambda: collate([data[index] for index in range(len(data))])
    yield "open", lambda: Tokenizer(kit.directory("llama3")).vocab_size
