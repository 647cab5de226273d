"""Every component and option of a `tokenizer.json` against `tokenizers`, alone and combined."""

GROUP = "parts"
