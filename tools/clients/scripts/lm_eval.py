"""lm-eval: requests to its transformers model: likelihoods, windows, generation, chats."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("lm-eval[hf]",), note="one layer of a model: with a real one its time hides the tokenizer's")


def tasks(kit: Kit) -> Tasks:
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    texts = kit.texts(60, 400)
    lm = HFLM(pretrained=kit.model("llama"), batch_size=8, device="cpu", dtype="float32", max_length=256)

    def requests(kind, arguments):
        return [
            Instance(request_type=kind, doc={}, arguments=each, idx=number) for number, each in enumerate(arguments)
        ]

    pairs = requests("loglikelihood", [(text[:150], text[150:200]) for text in texts])
    yield "loglikelihood", lambda: lm.loglikelihood(pairs, disable_tqdm=True)
    rolling = requests("loglikelihood_rolling", [(text,) for text in kit.texts(4, 2000)])
    yield "loglikelihood_rolling", lambda: lm.loglikelihood_rolling(rolling, disable_tqdm=True)
    said = {"until": ["\n\n"], "max_gen_toks": 8, "do_sample": False}
    generated = requests("generate_until", [(text[:100], said) for text in texts[:8]])
    yield "generate_until", lambda: lm.generate_until(generated, disable_tqdm=True)
    yield "tok_batch_encode", lambda: lm.tok_batch_encode(texts, truncation=True)
    yield "tok_encode", lambda: [lm.tok_encode(text) for text in texts]
    chat = [{"role": "user", "content": texts[0]}, {"role": "assistant", "content": texts[1]}]
    yield "apply_chat_template", lambda: lm.apply_chat_template(chat)
