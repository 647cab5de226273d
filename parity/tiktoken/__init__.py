"""`tiktoken.Encoding`: ids with and without special tokens, decoded bytes and texts, where each token starts."""
