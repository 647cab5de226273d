"""What a tokenizer is: its engine, its components and added tokens, its settings, and the changes that users make."""
