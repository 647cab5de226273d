"""Training against the trainers of `tokenizers` and of CRAYON: the whole `tokenizer.json`, to the byte."""

GROUP = "parts"
