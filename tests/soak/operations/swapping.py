"""What is in use is replaced meanwhile."""

from __future__ import annotations

import os
import shutil
import threading
from itertools import pairwise

from crayon_hf import CrayonVocab, _core
from tests.soak.world import Run


def replace_cartridge(run: Run) -> None:
    """A cartridge is replaced by rename, again and again, while it is opened and used: an engine is one of two."""
    other = run.rng.choice(run.world.subjects)
    place = run.place()
    path = place / "swapped.dat"
    by_digest = {}
    for number, subject in enumerate((run.subject, other)):
        by_digest[subject.tokenizer.source_digest] = subject.material
        shutil.copyfile(subject.cartridge, place / f"kept-{number}")
    shutil.copyfile(place / "kept-0", path)
    ended = threading.Event()

    def swap() -> None:
        number = 0
        while not ended.wait(0.001):
            number = 1 - number
            shutil.copyfile(place / f"kept-{number}", place / "new")
            os.replace(place / "new", path)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        opened = [_core.Engine.open(str(path), verify=i % 2 == 0) for i in range(6)]
        for engine in opened:
            material = by_digest[engine.source_digest]
            i = run.rng.randrange(len(material.texts))
            run.same(engine.encode_ids(material.texts[i], False), material.ids[i], "a replaced cartridge")
    finally:
        ended.set()
        thread.join()
        shutil.rmtree(place)


def swap_profiles(run: Run) -> None:
    """A CrayonVocab gets other profiles during its batches: each batch is of one vocabulary, whole."""
    other = run.rng.choice(run.world.subjects)
    texts = [run.material.texts[i] for i in run.some()]
    wanted = [run.subject.tokenizer.encode_ragged(texts, False), other.tokenizer.encode_ragged(texts, False)]
    lists = [[flat[a:b].tolist() for a, b in pairwise(splits)] for flat, splits in wanted]
    vocab = CrayonVocab()
    vocab.load_profile(run.subject.profile)
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            with vocab.using_profile(other.profile):
                pass
            vocab.load_profile(run.subject.profile)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(10):
            ids = vocab.tokenize(texts)
            run.same(ids in lists, True, "a batch while profiles are swapped is one of the two vocabularies'")
    finally:
        ended.set()
        thread.join()
        vocab.close()


def change_copy(run: Run) -> None:
    """Tokens, truncation and padding are added to a copy; what it was copied from stays."""
    import copy

    tokenizer = copy.copy(run.subject.tokenizer)
    token = f"<added {run.rng.randrange(10**6)}>"
    tokenizer.add_special_tokens([token])
    id = tokenizer.token_to_id(token)
    i = run.rng.randrange(len(run.material.texts))
    ids = tokenizer.encode(token + token, add_special_tokens=False).ids
    run.same(ids, [id, id], "an added token")
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=5)
    run.same(len(tokenizer.encode(run.material.texts[i]).ids), 5, "padded")
    run.check(run.subject.tokenizer)


def install(run: Run) -> None:
    """transformers' AutoTokenizer gives ours while it is installed. Only where nothing else runs: it is global."""
    import transformers

    import crayon_hf

    crayon_hf.install()
    try:
        ours = transformers.AutoTokenizer.from_pretrained(run.subject.directory)
        run.same(isinstance(ours, crayon_hf.CrayonTokenizerFast), True, "installed")
        numbers = run.some()
        texts = [run.material.texts[i] for i in numbers]
        ids = ours(texts, add_special_tokens=False)["input_ids"]
        run.same(ids, [run.material.ids[i] for i in numbers], "transformers")
    finally:
        crayon_hf.uninstall()
