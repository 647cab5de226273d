"""SGLang: its tokenizer manager, its detokenizer over its sockets, and its grammars; no scheduler runs."""

from clients import plugins, stubs
from clients.client import Client, Kit, Tasks

CLIENT = Client(
    packages=(
        *("transformers==5.19.0", "tokenizers==0.23.2", "aiohttp", "anthropic", "apache-tvm-ffi==0.1.11", "blobfile"),
        *("compressed-tensors==0.18.0", "distro", "einops", "fastapi", "gguf", "interegular", "ipython"),
        *("llguidance>=1.7.6,<2", "mistral_common", "msgspec", "openai==2.8.0", "openai-harmony==0.0.4", "orjson"),
        *("outlines==0.1.11", "partial_json_parser", "pillow", "prometheus-client", "psutil", "pybase64"),
        *("python-multipart", "pyzmq", "setproctitle", "uvicorn", "uvloop", "watchfiles", "xgrammar==0.2.7"),
        "zstandard",
    ),
    no_deps=("sglang==0.5.23",),
    library="sglang",
    how="its plugin: `sglang.srt.plugins`",
    install=(),
    note="the wheel without kernels; torchvision, for pictures alone, is a stub: `TokenizerManager`, "
    "`OpenAIServingChat`, `DetokenizerManager` and grammars are its own, ids of texts stand for a scheduler's",
)
SCHEMA = """{"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"},
"of": {"enum": ["wax", "chalk"]}}, "required": ["name", "n", "of"]}"""
ANSWER = '{"name": "déjà vu", "n": 12, "of": "wax"}'
CALL = '<tool_call>\n{"name": "draw", "arguments": {"what": "déjà vu", "times": 3}}\n</tool_call>'
STEPS, STEP, CONTEXT = 40, 4, 5
"""The number of batches in a stream, of ids in each batch, and of the prompt's ids before the first batch."""


def tasks(kit: Kit) -> Tasks:
    import transformers.utils  # looks for torchvision, and remembers the result

    assert transformers.utils
    stubs.put("torchvision")
    if kit.ours:
        plugins.offer(kit.work)
    from sglang.srt.plugins import load_plugins

    load_plugins()  # each process of SGLang does this first
    import asyncio

    from sglang.srt.constrained.base_grammar_backend import create_grammar_backend
    from sglang.srt.entrypoints.engine import init_tokenizer_manager
    from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest
    from sglang.srt.entrypoints.openai.serving_chat import OpenAIServingChat
    from sglang.srt.managers.detokenizer_manager import DetokenizerManager
    from sglang.srt.runtime_context import publish
    from sglang.srt.server_args import PortArgs, ServerArgs
    from sglang.srt.utils.hf_transformers_utils import get_tokenizer

    texts = kit.texts(40) + kit.texts(24, kind="multi")
    chats = [[{"role": "user", "content": text}, {"role": "assistant", "content": text[:99]}] for text in texts]

    def arguments(name, **said):
        home = kit.model("llama")
        it = ServerArgs(model_path=home, tokenizer_path=kit.directory(name), device="cpu", dtype="float32", **said)
        it.resolve_once()
        return it

    def opened(name):
        it = get_tokenizer(kit.directory(name))
        return [len(it), it.all_special_ids, it.is_fast, it.additional_stop_token_ids, it.clean_up_tokenization_spaces]

    for name in ("llama3", "qwen", "llama2"):
        said = arguments(name)
        ports = PortArgs.init_new(said)
        publish(said, role="tokenizer")
        manager, templates = init_tokenizer_manager(said, ports)
        tokenizer = manager.tokenizer
        yield f"open, {name}", lambda name=name: opened(name)
        yield (
            f"prompts in a batch, {name}",
            lambda it=manager: asyncio.run(it._tokenize_texts(texts))[0],
        )
        yield (
            f"prompts one by one, {name}",
            lambda it=manager: [asyncio.run(it._tokenize_texts(text))[0] for text in texts],
        )
        if tokenizer.chat_template:
            serving = OpenAIServingChat(manager, templates)
            asked = [ChatCompletionRequest(model="m", messages=messages) for messages in chats]
            yield (
                f"chats, {name}",
                lambda serving=serving, asked=asked: [
                    serving._process_messages(each.model_copy(deep=True), False).prompt_ids for each in asked
                ],
            )
        ids = [row[: CONTEXT + STEPS * STEP] for row in tokenizer(texts, add_special_tokens=False)["input_ids"]]
        for alone in (False, True):
            said = arguments(name, disable_tokenizer_batch_decode=alone)
            ports = PortArgs.init_new(said)
            publish(said, role="detokenizer")
            stream = _streams(DetokenizerManager(said, ports), ports, ids)
            yield f"64 streams, {'one by one' if alone else 'in batches'}, {name}", stream
    tokenizer = get_tokenizer(kit.directory("llama3"))
    for backend in ("xgrammar", "llguidance", "outlines"):

        def structured(backend=backend):
            said = arguments("llama3", grammar_backend=backend)
            publish(said, role="scheduler")
            made = create_grammar_backend(said, tokenizer, len(tokenizer), {tokenizer.eos_token_id})
            return _masks(made.dispatch_json(SCHEMA), tokenizer)

        yield f"structured output, {backend}", structured
    qwen = get_tokenizer(kit.directory("qwen"))
    yield "tool calls, qwen25", lambda: _tool_calls(qwen)


def _streams(manager, ports, rows):
    """Return a task that sends batches of ids to a detokenizer, as a scheduler does, and returns its answers."""
    from array import array
    from threading import Thread

    import zmq
    from sglang.srt.managers.io_struct import BatchTokenIDOutput, sock_recv, sock_send
    from sglang.srt.utils.network import get_zmq_socket

    context = zmq.Context()
    back = get_zmq_socket(context, zmq.PULL, ports.tokenizer_ipc_name, True)
    to = get_zmq_socket(context, zmq.PUSH, ports.detokenizer_ipc_name, False)
    Thread(target=manager.event_loop, daemon=True).start()
    count = len(rows)
    absent = dict.fromkeys(name for name in BatchTokenIDOutput.__struct_fields__ if name not in ("rids", "time_stats"))
    rids = [str(index) for index in range(count)]

    def batch(step):
        begin = CONTEXT + step * STEP
        given = [ids[begin if step else 0 : begin + STEP] for ids in rows]
        same = {
            "skip_special_tokens": True,
            "spaces_between_special_tokens": True,
            "no_stop_trim": False,
            "finished_reasons": None if step + 1 < STEPS else {"type": "length", "length": STEPS * STEP},
            "decoded_texts": "",
            "read_offsets": CONTEXT,
            **dict.fromkeys(("prompt_tokens", "reasoning_tokens", "completion_tokens", "cached_tokens"), 0),
        }
        said = {name: [value] * count for name, value in same.items()}
        return BatchTokenIDOutput(**absent | said | {"rids": rids, "decode_ids": [array("q", ids) for ids in given]})

    def streamed():
        found = []
        for step in range(STEPS):
            sock_send(to, batch(step))
            found.append(sock_recv(back).output_strs)
        return found

    return streamed


def _masks(grammar, tokenizer):
    """Return the masks of ids that a grammar allows before each id of an answer."""
    import torch

    seen = []
    for id in tokenizer.encode(ANSWER, add_special_tokens=False):
        mask = grammar.allocate_vocab_mask(len(tokenizer), 1, "cpu")
        grammar.fill_vocab_mask(mask, 0)
        seen.append(mask[0].to(torch.int32).numpy().tobytes())
        grammar.accept_token(id)
    return seen


def _tool_calls(tokenizer):
    """Return the results of a tool-call parser while an answer streams."""
    from sglang.srt.entrypoints.openai.protocol import Function, Tool
    from sglang.srt.function_call.function_call_parser import FunctionCallParser

    kinds = {"what": {"type": "string"}, "times": {"type": "integer"}}
    tool = Tool(function=Function(name="draw", parameters={"type": "object", "properties": kinds}))
    parser = FunctionCallParser([tool], "qwen25")
    seen, before = [], ""
    ids = tokenizer.encode(f"Let me see.\n{CALL}", add_special_tokens=False)
    for end in range(1, len(ids) + 1):
        now = tokenizer.decode(ids[:end])
        text, calls = parser.parse_stream_chunk(now[len(before) :])
        seen.append([text, calls])
        before = now
    return seen
