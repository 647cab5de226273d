"""Dynamo: its frontend with vLLM's chat processor, before and after a worker; ids of texts stand for one."""

from clients import plugins
from clients.client import Client, Kit, Tasks
from clients.scripts import vllm

CLIENT = Client(
    packages=(
        *("transformers>=5.10.4,<5.18.0", "xgrammar==0.2.7", "redis>=6.2,<9", "uvloop"),
        *(each for each in vllm.CLIENT.packages if not each.startswith(("transformers", "xgrammar"))),
    ),
    no_deps=("ai-dynamo==1.6.1", "ai-dynamo-runtime==1.6.1", "vllm==0.31.0"),
    library="ai-dynamo",
    how="vLLM's plugin: `vllm.general_plugins`",
    install=(),
    environ=vllm.CLIENT.environ,
    note="the frontend's `--dyn-chat-processor vllm`: arguments, `EngineFactory` and `VllmProcessor` are its own; ids "
    "of texts stand for a worker's, an object for Rust's model card",
)
CALL = '<tool_call>\n{"name": "draw", "arguments": {"what": "déjà vu", "times": 3}}\n</tool_call>'
TOOL = {
    "type": "function",
    "function": {
        "name": "draw",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}, "times": {"type": "integer"}}},
    },
}
LONGEST, STEP = 160, 4
"""Ids of an answer at most, and how many of them a worker sends at a time."""


def tasks(kit: Kit) -> Tasks:
    import asyncio
    import sys

    if kit.ours:
        plugins.offer(kit.work)
    from dynamo.frontend import main, vllm_processor

    sys.argv = ["dynamo.frontend", "--dyn-chat-processor", "vllm", "--enable-auto-tool-choice"]
    config, flags, _ = main.parse_args()  # where vLLM calls its plugins
    vllm_processor.random_uuid = lambda: "request"
    texts = kit.texts(40) + kit.texts(24, kind="multi")

    for name in ("llama3", "qwen"):
        card = _Card(kit, name)
        worker = _Worker()

        def opened(card=card, worker=worker):
            """What Rust calls when it finds a model; the generator that it is given."""
            made = []
            vllm_processor.PythonAsyncEngine = lambda generator, loop: made.append(generator)
            asyncio.run(vllm_processor.EngineFactory(config, flags).chat_engine_factory(None, card, worker))
            return made[0]

        processor = opened().__self__
        tokenizer = processor.tokenizer

        def answered(asked, answers, processor=processor, worker=worker, **said):
            """What a client gets for each text, and what a worker gets."""

            async def run(text, ids):
                worker.ids = ids
                request = {"model": "m", "messages": [{"role": "user", "content": text}], "stream": True, **said}
                return [_plain(each) async for each in processor.generator(request)]

            async def run_all():
                return [[await run(text, ids), worker.asked] for text, ids in zip(asked, answers, strict=True)]

            return asyncio.run(run_all())

        answers = [ids[:LONGEST] for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]]
        yield f"open, {name}", lambda run=opened: _facts(run().__self__)
        yield f"prompts, {name}", lambda run=answered: run(texts, [[0]] * len(texts))
        yield f"prompts and answers, {name}", lambda run=answered, answers=answers: run(texts, answers)
        short = [text[-200:] for text in texts]
        yield f"answers, {name}", lambda run=answered, short=short, answers=answers: run(short, answers)
        yield (
            f"answers, stop strings, {name}",
            lambda run=answered, short=short, answers=answers: run(short, answers, stop=["the ", "。", ");"]),
        )
        yield (
            f"answers, log probabilities, {name}",
            lambda run=answered, short=short, answers=answers: run(short, answers, logprobs=True, top_logprobs=2),
        )
        if name == "qwen":
            flags.tool_call_parser = "hermes"
            call = tokenizer.encode(f"Let me see.\n{CALL}", add_special_tokens=False)
            processor.tool_parser_class = opened().__self__.tool_parser_class
            yield "tool calls, hermes", lambda run=answered, call=call: run(["Draw it."], [call], tools=[TOOL])


def _facts(processor):
    it = processor.tokenizer
    return [len(it), it.all_special_ids, it.chat_template, processor._get_eos_token_ids()]


class _Card:
    """What Rust knows of a model."""

    def __init__(self, kit, name):
        import shutil

        self.home = kit.work / name
        shutil.copytree(kit.model("llama"), self.home)
        shutil.copytree(kit.directory(name), self.home, dirs_exist_ok=True)
        shutil.copy(f"{kit.model('llama')}/config.json", self.home)

    def model_type(self):
        from dynamo.llm import ModelType

        return ModelType.Chat

    def name(self):
        return "m"

    def local_dir(self):
        return str(self.home)

    def runtime_config(self):
        return {"context_length": 4096}


class _Worker:
    """A worker behind Rust's router: it says the ids that it has."""

    def __init__(self):
        self.ids, self.asked = [], None

    async def generate(self, asked, context=None):
        self.asked = asked
        return self._answer(asked["output_options"]["logprobs"])

    async def _answer(self, scores):
        for begin in range(0, len(self.ids), STEP):
            said = {"token_ids": self.ids[begin : begin + STEP], "index": 0}
            if scores is not None:
                said["log_probs"] = [-0.25] * len(said["token_ids"])
                said["top_logprobs"] = [
                    [{"rank": rank, "token_id": id + rank, "logprob": -0.25 - rank} for rank in range(3)]
                    for id in said["token_ids"]
                ]
            if begin + STEP >= len(self.ids):
                said["finish_reason"] = "length"
            yield _Item(said)


class _Item:
    def __init__(self, said):
        self.said = said

    def is_error(self):
        return False

    def comments(self):
        return []

    def data(self):
        return self.said


def _plain(envelope):
    """An answer without its time and what is random in it."""
    envelope.get("data", {}).pop("created", None)
    for choice in envelope.get("data", {}).get("choices", ()):
        for call in choice["delta"].get("tool_calls") or ():
            call.pop("id", None)
    return envelope
