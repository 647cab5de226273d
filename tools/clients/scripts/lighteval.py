"""lighteval: what its model of transformers does with documents: likelihoods and generation."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("lighteval",), note="one layer of a model: with a real one its time hides the tokenizer's")


def tasks(kit: Kit) -> Tasks:
    import shutil

    from lighteval.models.model_input import GenerationParameters
    from lighteval.models.transformers.transformers_model import TransformersModel, TransformersModelConfig
    from lighteval.tasks.requests import Doc, SamplingMethod

    texts = kit.texts(24, 400)
    config = TransformersModelConfig(
        model_name=kit.model("llama"),
        batch_size=8,
        max_length=256,
        dtype="float32",
        device="cpu",
        cache_dir="cache",
        generation_parameters=GenerationParameters(max_new_tokens=8, temperature=0),
    )
    model = TransformersModel(config)

    def documents(method):
        return [
            Doc(
                query=text[:200],
                choices=[" yes", " no", text[200:240]],
                gold_index=0,
                task_name="task|0",
                id=str(number),
                sampling_methods=[method],
                generation_size=8,
                stop_sequences=["\n\n"],
            )
            for number, text in enumerate(texts)
        ]

    def likelihoods():
        shutil.rmtree("cache", ignore_errors=True)
        said = model.loglikelihood(documents(SamplingMethod.LOGPROBS))
        return [[each.logprobs, each.input_tokens, each.output_tokens] for each in said]

    def generated():
        shutil.rmtree("cache", ignore_errors=True)
        said = model.greedy_until(documents(SamplingMethod.GENERATIVE))
        return [[each.text, each.input_tokens, each.output_tokens] for each in said]

    yield "loglikelihood", likelihoods
    yield "greedy_until", generated
    pairs = [(text[:200], text[200:260]) for text in texts]
    yield (
        "tok_encode_pair",
        lambda: [model.tok_encode_pair(query, [choice], pairwise=False) for query, choice in pairs],
    )
    yield "tok_encode", lambda: model.tok_encode(texts)
    prompts = documents(SamplingMethod.GENERATIVE)
    yield "prompts of chats", lambda: [model.prompt_manager.prepare_prompt(each) for each in prompts]
