"""`transformers.AutoTokenizer`: what calling its tokenizer gives, alone, in batches and as arrays; decoded texts."""
