"""datasets: `map` with a tokenizer, in batches, in processes and as NumPy; its cache is found again."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("datasets",), note="without a formatter most of the time is Arrow from lists of Python")


def tasks(kit: Kit) -> Tasks:
    from datasets import Dataset
    from datasets.fingerprint import Hasher
    from transformers import AutoTokenizer, DataCollatorForLanguageModeling, DataCollatorWithPadding

    texts = kit.texts(300)
    for name in ("llama3", "bert-cased"):
        tokenizer = AutoTokenizer.from_pretrained(kit.directory(name))
        data = Dataset.from_dict({"text": texts})

        def encode(batch, tokenizer=tokenizer):
            return tokenizer(batch["text"], truncation=True, max_length=256)

        def mapped(data=data, encode=encode, **said):
            made = data.map(encode, remove_columns=["text"], load_from_cache_file=False, keep_in_memory=True, **said)
            return [made.column_names, made.features, made["input_ids"][:20], made.to_pandas()["input_ids"].str.len()]

        yield f"map in batches, {name}", lambda mapped=mapped: _plain(mapped(batched=True))
        yield f"map one by one, {name}", lambda mapped=mapped, data=data: _plain(mapped(data.select(range(100))))
        yield (
            f"the same fingerprint twice, {name}",
            lambda tokenizer=tokenizer: [Hasher.hash(tokenizer) == Hasher.hash(tokenizer)],
        )
    two = data.map(encode, batched=True, num_proc=2, load_from_cache_file=False)
    yield "map in two processes", lambda: two["input_ids"][:50]
    rows = [two[index] for index in range(64)]
    rows = [{key: row[key] for key in ("input_ids", "attention_mask")} for row in rows]
    pad = DataCollatorWithPadding(tokenizer)
    yield "DataCollatorWithPadding", lambda: dict(pad(rows))
    mask = DataCollatorForLanguageModeling(tokenizer, seed=3)
    yield "a mask that is drawn", lambda: sorted(mask(rows)["input_ids"].shape)


def _plain(said):
    names, features, ids, lengths = said
    return [names, str(features), list(ids), lengths.tolist()]
