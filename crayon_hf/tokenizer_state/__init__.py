"""The state of a `Tokenizer`: its engine, components, added tokens and settings, and the changes made to them."""
