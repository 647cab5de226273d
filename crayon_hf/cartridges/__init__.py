"""From a name, a path or bytes to an open tokenizer: recognise the source, find or make its cartridge, check it."""
