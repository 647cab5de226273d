"""Real users of a tokenizer: datasets, collators, pipelines, streamers, threads, process pools, fork."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

import crayon_hf
from tests.transformers.comparing import plain

TEXTS = [f"number {number}: the quick brown fox, déjà vu {'again ' * (number % 7)}" for number in range(60)]


@pytest.fixture
def ours(repositories: dict[str, Path]) -> Any:
    return crayon_hf.AutoTokenizer.from_pretrained(repositories["byte_level"])


@pytest.fixture
def stock(repositories: dict[str, Path]) -> Any:
    return AutoTokenizer.from_pretrained(repositories["byte_level"])


@pytest.mark.slow
def test_datasets_map(ours: Any, stock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    data = datasets.Dataset.from_dict({"text": TEXTS})
    expected = data.map(lambda rows: stock(rows["text"], truncation=True, max_length=16), batched=True)
    for workers in (None, 2):
        mapped = data.map(
            lambda rows: ours(rows["text"], truncation=True, max_length=16), batched=True, num_proc=workers
        )
        assert mapped["input_ids"][:] == expected["input_ids"][:]
        assert mapped["attention_mask"][:] == expected["attention_mask"][:]


@pytest.mark.slow
def test_datasets_fingerprint(ours: Any) -> None:
    """Calling a tokenizer leaves its fingerprint alone, so that what was computed before is found."""
    pytest.importorskip("datasets")
    from datasets.fingerprint import Hasher

    before = Hasher.hash(ours)
    ours(TEXTS, padding=True, truncation=True, max_length=9)
    assert Hasher.hash(ours) == before
    ours.add_tokens(["quick"])
    assert Hasher.hash(ours) != before


@pytest.mark.slow
def test_collator(ours: Any, stock: Any) -> None:
    pytest.importorskip("torch")
    from torch.utils.data import DataLoader
    from transformers import DataCollatorForLanguageModeling, DataCollatorWithPadding

    expected = DataCollatorWithPadding(stock)([stock(text) for text in TEXTS])
    assert plain(DataCollatorWithPadding(ours)([ours(text) for text in TEXTS])) == plain(expected)
    collate = DataCollatorWithPadding(ours, pad_to_multiple_of=8)
    features: Any = [ours(text) for text in TEXTS]
    sizes = {batch["input_ids"].shape for batch in DataLoader(features, batch_size=20, collate_fn=collate)}
    assert all(rows == 20 and columns % 8 == 0 for rows, columns in sizes)
    masked = DataCollatorForLanguageModeling(ours, mlm=False)(features)
    assert masked["labels"].shape == masked["input_ids"].shape


@pytest.mark.slow
def test_loader_workers(ours: Any) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    ours(TEXTS)  # the engine has run before the workers fork

    def collate(texts: list[str]) -> Any:
        return ours(texts, padding=True, return_tensors="pt")

    batches = list(DataLoader(TEXTS, batch_size=15, num_workers=2, collate_fn=collate))  # type: ignore[arg-type]
    assert torch.equal(batches[0]["input_ids"], collate(TEXTS[:15])["input_ids"])
    assert len(batches) == 4


@pytest.fixture(scope="module")
def model() -> Any:
    torch = pytest.importorskip("torch")
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=600, n_positions=64, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0, pad_token_id=1
    )
    return GPT2LMHeadModel(config).eval()


@pytest.mark.slow
def test_pipeline(ours: Any, stock: Any, model: Any) -> None:
    from transformers import pipeline

    prompts = ["The quick", "déjà vu again"]
    made = [
        pipeline("text-generation", model=model, tokenizer=tokenizer)(
            prompts, max_new_tokens=8, do_sample=False, batch_size=2
        )
        for tokenizer in (stock, ours)
    ]
    assert made[0] == made[1]


@pytest.mark.slow
@pytest.mark.concurrency
def test_streamer(ours: Any, stock: Any, model: Any) -> None:
    from transformers import TextIteratorStreamer

    made = []
    for tokenizer in (stock, ours):
        streamer = TextIteratorStreamer(tokenizer, skip_prompt=True)
        inputs = tokenizer("The quick brown", return_tensors="pt")
        options = {**inputs, "streamer": streamer, "max_new_tokens": 12, "do_sample": False}
        thread = threading.Thread(target=model.generate, kwargs=options)
        thread.start()
        made.append(list(streamer))
        thread.join()
    assert made[0] == made[1]
    assert len(made[0]) > 1


def test_streaming_detokenizer(ours: Any, stock: Any) -> None:
    from tokenizers.decoders import DecodeStream

    ids = stock("déjà vu 🙂 敏捷 the quick brown fox")["input_ids"]
    theirs, stream = DecodeStream(skip_special_tokens=True), None
    expected = [theirs.step(stock._tokenizer, one) for one in ids]
    module = pytest.importorskip("crayon_hf.decode_stream")
    stream = module.DecodeStream(skip_special_tokens=True)
    assert [stream.step(ours._tokenizer, one) for one in ids] == expected


@pytest.mark.concurrency
def test_eight_threads(ours: Any, stock: Any) -> None:
    sizes: list[dict[str, Any]] = [
        {},
        {"padding": True},
        {"truncation": True, "max_length": 7},
        {"padding": "max_length", "truncation": True, "max_length": 20},
        {"padding": True, "padding_side": "left", "return_tensors": "np"},
        {"add_special_tokens": False},
        {"max_length": 5},
        {"padding": True, "pad_to_multiple_of": 8},
    ]
    expected = [plain(dict(stock(TEXTS, **size))) for size in sizes]

    def work(number: int) -> bool:
        return all(plain(dict(ours(TEXTS, **sizes[number]))) == expected[number] for _ in range(10))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def _encode(job: tuple[Any, list[str]]) -> Any:
    tokenizer, texts = job
    return tokenizer(texts)["input_ids"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [name for name in ("spawn", "fork") if name in multiprocessing.get_all_start_methods()]
)
def test_process_pool(ours: Any, stock: Any, method: str) -> None:
    ours(TEXTS)
    jobs = [(ours, TEXTS[start::3]) for start in range(3)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        found = list(pool.map(_encode, jobs))
    assert found == [stock(texts)["input_ids"] for _, texts in jobs]


@pytest.mark.concurrency
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_fork_during_use(ours: Any, stock: Any) -> None:
    ours.model_max_length = 1000  # else a thread may hold the lock of stderr, to write a warning, when the fork comes
    expected = stock(TEXTS)["input_ids"]
    done = threading.Event()

    def busy() -> None:
        while not done.is_set():
            ours(TEXTS * 20, padding=True, return_tensors="np")

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                code = 2
                try:
                    faulthandler.dump_traceback_later(60, exit=True)
                    good = ours(TEXTS)["input_ids"] == expected and ours(TEXTS[0])["input_ids"] == expected[0]
                    code = 0 if good else 1
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        for thread in threads:
            thread.join()
