"""Text in budgets: each call beside its plain twin, which encodes anew."""

import crayon_hf

TEXT = "Ask, and it shall be given you;   seek, and ye shall find\n\n \u00e9\u0301 \U0001f469\u200d\U0001f680 12345678 <unk> x"


def test_a_limit_ends_the_count(gpt2_like: str) -> None:
    tokenizer = crayon_hf.Tokenizer.from_file(gpt2_like)
    whole = tokenizer.count_tokens(TEXT)
    for limit in range(whole + 2):
        assert tokenizer.count_tokens(TEXT, limit=limit) == min(whole, limit + 1)
        assert tokenizer.count_tokens([TEXT, ""], limit=limit) == [min(whole, limit + 1), 0]
        assert tokenizer.fits(TEXT, limit) == (whole <= limit)
