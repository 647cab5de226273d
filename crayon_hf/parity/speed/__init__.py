"""Speed of tokenizers in fresh processes, for the reports of parity and the benchmark."""
