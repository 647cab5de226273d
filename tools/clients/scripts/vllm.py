"""vLLM: the work of its API server before and after the engine, and the engine's structured output; no model runs."""

from clients import plugins
from clients.client import Client, Kit, Tasks

CLIENT = Client(
    packages=(
        *(
            "transformers>=5.16.1,<5.21",
            "aiohttp",
            "anthropic",
            "blake3",
            "cachetools",
            "cbor2",
            "cloudpickle",
            "depyf",
        ),
        *("einops", "fastapi[standard]<0.137.0", "ijson", "jsonschema", "lark==1.2.2", "llguidance>=1.7.0,<1.8.0"),
        *("lm-format-enforcer==0.11.3", "mcp>=2.2.0", "mistral_common[image]", "msgspec", "opencv-python-headless"),
        *("opentelemetry-api", "opentelemetry-sdk", "orjson", "oss-harmony", "outlines_core==0.2.14"),
        *("partial-json-parser", "pillow", "prometheus_client", "prometheus-fastapi-instrumentator", "py-cpuinfo"),
        *("pybase64", "python-json-logger", "pyzmq", "setproctitle", "watchfiles", "xgrammar==0.2.8"),
    ),
    no_deps=("vllm==0.33.0",),
    library="vllm",
    how="its plugin: `vllm.general_plugins`",
    install=(),
    environ={"VLLM_TARGET_DEVICE": "cpu", "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"},
    # prose: long sentence
    note="the wheel for GPUs without what needs one: renderers, `InputProcessor`, `OutputProcessor`, "
    "`StructuredOutputManager` and tool parsers are its own, ids of texts "
    "stand for the engine's; lm-format-enforcer 0.11.3 imports a module that vLLM has no longer",
)
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer"}, "of": {"enum": ["wax", "chalk"]}},
    "required": ["name", "n", "of"],
}
ANSWER = '{"name": "déjà vu", "n": 12, "of": "wax"}'


def tasks(kit: Kit) -> Tasks:
    if kit.ours:
        plugins.offer(kit.work)
    from vllm.engine.arg_utils import EngineArgs  # its import calls the plugins
    from vllm.renderers import ChatParams, renderer_from_config
    from vllm.sampling_params import RequestOutputKind, SamplingParams
    from vllm.tokenizers import get_tokenizer
    from vllm.v1.engine import EngineCoreOutput, FinishReason
    from vllm.v1.engine.input_processor import InputProcessor
    from vllm.v1.engine.output_processor import OutputProcessor

    texts = kit.texts(40) + kit.texts(24, kind="multi")
    chats = [[{"role": "user", "content": text}, {"role": "assistant", "content": text[:99]}] for text in texts]

    def configured(name, **said):
        arguments = EngineArgs(
            model=kit.model("llama"), tokenizer=kit.directory(name), max_model_len=4096, enforce_eager=True, **said
        )
        return arguments.create_engine_config()

    def opened(name):
        it = get_tokenizer(kit.directory(name))
        return [len(it), it.max_token_id, it.all_special_ids, it.is_fast, it.truncation_side]

    for name in ("llama3", "qwen", "llama2"):
        config = configured(name)
        renderer = renderer_from_config(config)
        tokenizer = renderer.get_tokenizer()
        inputs = InputProcessor(config, renderer)
        answers = [ids[:160] for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]]

        def prompts(renderer=renderer, texts=texts):
            return renderer.render_cmpl([{"prompt": text} for text in texts])

        def requests(inputs=inputs, prompts=prompts, **said):
            params = SamplingParams(max_tokens=160, output_kind=RequestOutputKind.DELTA, **said)
            for index, prompt in enumerate(prompts(texts=[text[-300:] for text in texts])):
                made = inputs.process_inputs(str(index), prompt, params, ("generate",))
                inputs.assign_request_id(made)
                yield made

        def streamed(tokenizer=tokenizer, answers=answers, requests=requests, **said):
            output = OutputProcessor(tokenizer, log_stats=False)
            left = {}
            for answer, request in zip(answers, requests(**said), strict=True):
                output.add_request(request, None)
                left[request.request_id] = list(reversed(answer))
            kinds = {type(each.detokenizer).__name__ for each in output.request_states.values()}
            streams = {each.external_req_id: [] for each in output.request_states.values()}
            while left:
                step = []
                for request, ids in left.items():
                    id = ids.pop()
                    end = None if ids else FinishReason.LENGTH
                    scores = _scores(id) if "logprobs" in said else None
                    step.append(EngineCoreOutput(request, [id], new_logprobs=scores, finish_reason=end))
                given = output.process_outputs(step)
                for each in given.request_outputs:
                    streams[each.request_id].append(_plain(each.outputs[0]))
                left = {key: ids for key, ids in left.items() if ids and key not in given.reqs_to_abort}
            return [kinds, streams]

        yield f"open, {name}", lambda name=name: opened(name)
        yield f"prompts, {name}", lambda run=prompts: [each["prompt_token_ids"] for each in run()]
        if tokenizer.chat_template:
            yield (
                f"chats, {name}",
                lambda it=renderer: [each["prompt_token_ids"] for each in it.render_chat(chats, ChatParams())[1]],
            )
        yield f"64 streams, {name}", streamed
        yield f"64 streams, log probabilities, {name}", lambda run=streamed: run(logprobs=4)
        yield (
            f"64 streams, stop strings, {name}",
            lambda run=streamed: run(
                stop=["the ", "。", ");"], skip_special_tokens=False, spaces_between_special_tokens=False
            ),
        )
    for backend in ("xgrammar", "guidance", "outlines", "lm-format-enforcer"):
        config = configured("llama3", structured_outputs_config={"backend": backend})
        yield f"structured output, {backend}", lambda config=config: _structured(config)
    qwen = get_tokenizer(kit.directory("qwen"))
    yield "tool calls, hermes", lambda: _tool_calls(qwen)


def _scores(id):
    """Return the log probabilities of a sampled id and of four other ids, as an engine gives them."""
    import numpy
    from vllm.v1.outputs import LogprobsLists

    ids = numpy.array([[id, *((id * 7 + more) % 30000 for more in range(1, 5))]], numpy.int32)
    return LogprobsLists(ids, numpy.log(1 / (1 + numpy.arange(5, dtype=numpy.float32)))[None], numpy.array([1]))


def _plain(it):
    scores = [{id: vars(each) for id, each in row.items()} for row in it.logprobs or ()]
    return [it.text, it.token_ids, it.finish_reason, it.stop_reason, scores]


def _structured(config):
    """Return the masks of ids that a schema allows before each id of an answer."""
    from vllm.renderers import renderer_from_config
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams
    from vllm.v1.engine.input_processor import InputProcessor
    from vllm.v1.request import Request
    from vllm.v1.structured_output import StructuredOutputManager

    inputs = InputProcessor(config, renderer_from_config(config))
    params = SamplingParams(max_tokens=99, structured_outputs=StructuredOutputsParams(json=SCHEMA))
    (prompt,) = inputs.renderer.render_cmpl([{"prompt": "In JSON, it is "}])
    made = inputs.process_inputs("0", prompt, params, ("generate",))
    request = Request.from_engine_core_request(made, None)
    manager = StructuredOutputManager(config)
    manager.grammar_init(request)
    manager.executor.shutdown()
    grammar = request.structured_output_request.grammar
    seen = []
    answer = manager.tokenizer.encode(ANSWER, add_special_tokens=False)
    for id in [*answer, inputs.renderer.get_eos_token_id()]:
        mask = manager.grammar_bitmask({request.request_id: request}, [request.request_id], {})
        seen.append([mask[0].tobytes(), grammar.accept_tokens(request.request_id, [id])])
    manager.backend.destroy()
    return [type(manager.backend).__name__, seen, grammar.is_terminated()]


def _tool_calls(tokenizer):
    """Return the results of a tool-call parser while an answer streams."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.tool_parsers import ToolParserManager

    parser = ToolParserManager.get_tool_parser("hermes")(tokenizer)
    request = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "?"}])
    call = '<tool_call>\n{"name": "draw", "arguments": {"what": "déjà vu", "times": 3}}\n</tool_call>'
    ids = tokenizer.encode(f"Let me see.\n{call}", add_special_tokens=False)
    seen, before = [], ""
    for end in range(1, len(ids) + 1):
        now = tokenizer.decode(ids[:end])
        said = parser.extract_tool_calls_streaming(
            before, now, now[len(before) :], ids[: end - 1], ids[:end], ids[end - 1 : end], request
        )
        if said:
            calls = [[each.index, each.function and vars(each.function)] for each in said.tool_calls or ()]
            seen.append([said.content, calls])
        before = now
    return seen
