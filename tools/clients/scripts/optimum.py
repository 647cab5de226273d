"""optimum: its preprocessors of datasets, its calibration data, and its pipelines."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("optimum",),
    note="torchvision, for pictures alone, is a stub; `optimum.pipelines` asks for optimum-onnx",
)


def tasks(kit: Kit) -> Tasks:
    import transformers.utils  # it looks for torchvision, and remembers what it found
    from clients import stubs

    assert transformers.utils
    stubs.put("torchvision")
    from datasets import Dataset
    from optimum.gptq.data import prepare_dataset
    from optimum.utils.preprocessing import TaskProcessorsManager
    from optimum.utils.save_utils import maybe_load_preprocessors
    from transformers import AutoConfig, AutoTokenizer

    texts = kit.texts(60, 600)
    tokenizer = AutoTokenizer.from_pretrained(kit.model("bert-classes"))
    config = AutoConfig.from_pretrained(kit.model("bert-classes"))
    yield (
        "maybe_load_preprocessors",
        lambda: [type(each).__name__ for each in maybe_load_preprocessors(kit.model("bert"))],
    )

    def processed(task, columns, keys):
        processor = TaskProcessorsManager.get_task_processor_class_for_task(task)(
            config, tokenizer, {"max_length": 128, "truncation": True}
        )
        data = Dataset.from_dict(columns)
        return [processor.dataset_processing_func(row, keys) for row in data]

    yield (
        "text-classification",
        lambda: [dict(each) for each in processed("text-classification", {"text": texts}, {"primary": "text"})],
    )
    pairs = {"question": [text[:40] for text in texts], "context": texts}
    yield (
        "question-answering",
        lambda: [
            dict(each)
            for each in processed("question-answering", pairs, {"question": "question", "context": "context"})
        ],
    )
    words = {"tokens": [text.split()[:60] for text in texts]}
    yield (
        "token-classification",
        lambda: [dict(each) for each in processed("token-classification", words, {"primary": "tokens"})],
    )

    def calibration():
        rows = [tokenizer(text, return_tensors="pt") for text in texts]
        return prepare_dataset(rows, batch_size=4, pad_token_id=tokenizer.pad_token_id)

    yield "calibration of GPTQ", lambda: [dict(each) for each in calibration()]

    def pipelines():
        from optimum.pipelines import pipeline

        return pipeline("text-classification", kit.model("bert-classes"), accelerator="ort")(texts[:2])

    yield "optimum.pipelines", pipelines
