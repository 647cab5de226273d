"""`split_text` behind the interfaces of other libraries: each module needs its library, and nothing else imports it."""
