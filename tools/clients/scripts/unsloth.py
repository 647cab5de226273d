"""unsloth's tokenizer code: repairs of tokenizers, chat templates, new tokens, and masks of answers."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("peft", "pillow", "psutil", "trl"),
    ("unsloth", "unsloth_zoo"),
    library="unsloth",
    note="unsloth needs a GPU: `tokenizer_utils`, `chat_templates` and `dataset_utils` are the wheels', kernels and "
    "models are stubs",
)


def tasks(kit: Kit) -> Tasks:
    import sys
    from importlib.metadata import distribution
    from types import ModuleType

    from clients import stubs
    from transformers import AutoModelForCausalLM, AutoTokenizer

    for name, wheel in (("unsloth", "unsloth"), ("unsloth_zoo", "unsloth_zoo")):
        package = ModuleType(name)  # their __init__ looks for a GPU
        package.__path__ = [str(distribution(wheel).locate_file(name))]
        package.DEVICE_TYPE = package.DEVICE_TYPE_TORCH = "cpu"
        sys.modules[name] = package
    stubs.put(
        "unsloth.models",
        "unsloth.save",
        "unsloth_zoo.training_utils",
        "unsloth_zoo.peft_utils",
        "bitsandbytes",
    )
    from unsloth import chat_templates, tokenizer_utils
    from unsloth_zoo import dataset_utils
    from unsloth_zoo import tokenizer_utils as zoo

    texts = kit.texts(20, 600)

    def loaded(name):
        tokenizer = tokenizer_utils.load_correct_tokenizer(
            kit.directory(name), model_max_length=1024, padding_side="left"
        )
        return [
            tokenizer(texts, padding=True, truncation=True)["input_ids"],
            tokenizer_utils.get_tokenizer_info(tokenizer),
        ]

    for name in ("llama3", "qwen", "llama2"):
        yield f"load_correct_tokenizer, {name}", lambda name=name: loaded(name)
    messages = [{"role": "user", "content": texts[0]}, {"role": "assistant", "content": texts[1]}]

    def templated(template, name):
        tokenizer = chat_templates.get_chat_template(AutoTokenizer.from_pretrained(kit.directory(name)), template)
        said = tokenizer.apply_chat_template(messages, tokenize=False)
        return [said, tokenizer(said)["input_ids"], tokenizer.eos_token]

    for template, name in (("chatml", "qwen"), ("llama-3", "llama3"), ("zephyr", "llama2")):
        yield f"get_chat_template, {template}", lambda template=template, name=name: templated(template, name)

    def widened():
        model = AutoModelForCausalLM.from_pretrained(kit.model("llama"))
        tokenizer = AutoTokenizer.from_pretrained(kit.model("llama"))
        zoo.add_new_tokens(model, tokenizer, new_tokens=["<tool>", "</tool>"])
        return [model.get_input_embeddings().weight[-2:], tokenizer.encode("<tool>déjà vu</tool>")]

    yield "add_new_tokens", widened
    qwen = AutoTokenizer.from_pretrained(kit.directory("qwen"))
    masked = dataset_utils.train_on_responses_only(
        None, "<|im_start|>user\n", "<|im_start|>assistant\n", tokenizer=qwen, return_function=True
    )

    def labels():
        rows = [
            qwen(qwen.apply_chat_template([{**m, "content": m["content"] + t} for m in messages], tokenize=False))
            for t in texts
        ]
        return [masked({"input_ids": [row["input_ids"]]}) for row in rows]

    yield "train_on_responses_only", labels
