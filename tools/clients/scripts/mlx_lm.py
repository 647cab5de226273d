"""mlx-lm's tokenizer: it wraps transformers', and streams text with detokenizers of its own."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    (),
    ("mlx-lm",),
    note="MLX needs Apple's processors: `mlx` is a stub, `tokenizer_utils` is the wheel's",
)


def tasks(kit: Kit) -> Tasks:
    import importlib.util
    import sys
    from importlib.metadata import distribution
    from pathlib import Path
    from types import ModuleType

    from clients import stubs

    stubs.put("mlx")
    home = Path(str(distribution("mlx-lm").locate_file("mlx_lm")))
    package = ModuleType("mlx_lm")  # its __init__ imports models
    package.__path__ = [str(home)]
    sys.modules["mlx_lm"] = package
    from mlx_lm import tokenizer_utils

    assert importlib.util.find_spec("mlx_lm.tokenizer_utils")
    texts = kit.texts(10) + kit.texts(5, 800, "multi")
    for name in ("llama3", "llama2", "t5-small"):
        wrapped = tokenizer_utils.load(Path(kit.directory(name)))
        yield f"load, {name}", lambda name=name: sorted(tokenizer_utils.load(Path(kit.directory(name))).eos_token_ids)
        ids = [wrapped.encode(text, add_special_tokens=False) for text in texts]
        yield (
            f"encode and decode, {name}",
            lambda wrapped=wrapped, ids=ids: [[wrapped.encode(text) for text in texts], wrapped.batch_decode(ids)],
        )

        def streamed(wrapped=wrapped, ids=ids):
            said = []
            for each in ids[:6]:
                detokenizer = wrapped.detokenizer
                detokenizer.reset()
                for token in each:
                    detokenizer.add_token(token)
                    said.append(detokenizer.last_segment)
                detokenizer.finalize()
                said.append([type(detokenizer).__name__, detokenizer.text])
            return said

        yield f"detokenizer, {name}", streamed
    naive = tokenizer_utils.NaiveStreamingDetokenizer(wrapped._tokenizer)

    def naively():
        naive.reset()
        for token in ids[0]:
            naive.add_token(token)
        naive.finalize()
        return naive.text

    yield "NaiveStreamingDetokenizer", naively
    chats = tokenizer_utils.load(Path(kit.directory("qwen")))
    messages = [{"role": "user", "content": text} for text in texts]
    yield "apply_chat_template", lambda: chats.apply_chat_template(messages, add_generation_prompt=True)
