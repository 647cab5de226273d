"""trl: a dataset prepared for supervised training, preferences, chats, and packed sequences."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("trl", "peft"))


def tasks(kit: Kit) -> Tasks:
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

    texts = kit.texts(60, 600)
    tokenizer = AutoTokenizer.from_pretrained(kit.model("llama"))
    model = AutoModelForCausalLM.from_pretrained(kit.model("llama"))
    said = {"output_dir": "out", "report_to": [], "use_cpu": True, "bf16": False, "max_steps": 1, "save_strategy": "no"}

    def chats():
        return [
            {"messages": [{"role": "user", "content": text[:200]}, {"role": "assistant", "content": text[200:400]}]}
            for text in texts
        ]

    def prepared(rows, **more):
        arguments = SFTConfig(max_length=128, **said, **more)
        trainer = SFTTrainer(model, args=arguments, train_dataset=Dataset.from_list(rows), processing_class=tokenizer)
        return [dict(row) for row in trainer.train_dataset]

    plain = [{"text": text} for text in texts]
    yield "SFTTrainer, texts", lambda: prepared(plain)
    yield "SFTTrainer, packed", lambda: prepared(plain, packing=True)
    yield "SFTTrainer, chats", lambda: prepared(chats())

    def step():
        torch.manual_seed(0)
        fresh = AutoModelForCausalLM.from_pretrained(kit.model("llama"))
        arguments = SFTConfig(max_length=64, per_device_train_batch_size=4, **said)
        trainer = SFTTrainer(
            fresh, args=arguments, train_dataset=Dataset.from_list(plain[:8]), processing_class=tokenizer
        )
        return trainer.train().training_loss

    yield "SFTTrainer, one step", step

    def preferences():
        rows = [{"prompt": t[:100], "chosen": t[100:200], "rejected": t[200:300]} for t in texts]
        arguments = DPOConfig(max_length=128, **said)
        trainer = DPOTrainer(model, args=arguments, train_dataset=Dataset.from_list(rows), processing_class=tokenizer)
        return [dict(row) for row in trainer.train_dataset]

    yield "DPOTrainer, preferences", preferences
