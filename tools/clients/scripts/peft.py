"""peft: prompt tuning, whose first vectors are those of a text's tokens; a LoRA adapter beside a larger vocabulary."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("peft",), note="the model takes the time")


def tasks(kit: Kit) -> Tasks:
    import torch
    from peft import LoraConfig, PromptTuningConfig, PromptTuningInit, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    text = kit.texts(1, 200)[0]
    texts = kit.texts(50, 400)

    def tuned():
        model = AutoModelForCausalLM.from_pretrained(kit.model("llama"))
        config = PromptTuningConfig(
            task_type="CAUSAL_LM",
            prompt_tuning_init=PromptTuningInit.TEXT,
            prompt_tuning_init_text=text,
            num_virtual_tokens=8,
            tokenizer_name_or_path=kit.model("llama"),
        )
        return get_peft_model(model, config).get_prompt_embedding_to_save("default")

    yield "prompt tuning from a text", tuned
    tokenizer = AutoTokenizer.from_pretrained(kit.model("llama"))
    tokenizer.add_tokens(["<tool>", "</tool>"])

    def adapted():
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_pretrained(kit.model("llama"))
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        new = tokenizer.convert_tokens_to_ids(["<tool>", "</tool>"])
        tuned = get_peft_model(model, LoraConfig(target_modules=["q_proj"], trainable_token_indices=new, r=2))
        batch = tokenizer([f"<tool>{each}</tool>" for each in texts], padding=True, truncation=True, max_length=64)
        with torch.no_grad():
            logits = tuned(**{key: torch.tensor(value) for key, value in batch.items()}).logits
        return [batch["input_ids"], logits[:, -1, :50]]

    yield "LoRA with new tokens", adapted
    texts_only = lambda: tokenizer(texts, padding=True, truncation=True, max_length=64)["input_ids"]  # noqa: E731
    yield "tokenizer with new tokens", texts_only
