"""Training against the trainer of `tokenizers`: the whole `tokenizer.json`, to the byte."""

GROUP = "parts"
