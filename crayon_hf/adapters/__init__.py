"""`split_text` behind the interfaces of other libraries. Each module needs its library and is imported alone."""
