"""The state of a tokenizer: engine, components, added tokens, settings, and the changes that users make."""
