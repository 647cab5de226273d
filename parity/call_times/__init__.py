"""Every public call of `tokenizers`, transformers' fast tokenizers and `tiktoken`, timed beside ours:
``python -m parity.call_times``."""
