"""Every public call of `tokenizers`, transformers' fast tokenizers and `tiktoken`, timed beside ours."""

GROUP = "speed"
