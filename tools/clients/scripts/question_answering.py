"""Question answering as transformers' example does it: windows over a long text, and the answer found in them."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("transformers",), row="transformers (question answering)")


def tasks(kit: Kit) -> Tasks:
    import torch
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer, pipeline

    texts = kit.texts(10, 5000)
    tokenizer = AutoTokenizer.from_pretrained(kit.model("bert-answers"))
    model = AutoModelForQuestionAnswering.from_pretrained(kit.model("bert-answers"))
    question = "Where does the river flow?"

    def windows(**more):
        return tokenizer(
            [question] * len(texts),
            texts,
            max_length=128,
            stride=64,
            truncation="only_second",
            padding="max_length",
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            **more,
        )

    def features():
        batch = windows()
        kinds = [batch.sequence_ids(index) for index in range(len(batch["input_ids"]))]
        return [dict(batch), kinds]

    yield "windows", features

    def answers():
        batch = windows(return_tensors="pt")
        places, texts_of = batch.pop("offset_mapping"), batch.pop("overflow_to_sample_mapping")
        with torch.no_grad():
            said = model(**batch)
        found = []
        for index, sample in enumerate(texts_of.tolist()):
            own = [number for number, kind in enumerate(batch.sequence_ids(index)) if kind == 1]
            begin = own[int(said.start_logits[index, own].argmax())]
            end = own[int(said.end_logits[index, own].argmax())]
            begin, end = sorted((begin, end))
            found.append(texts[sample][places[index][begin][0] : places[index][end][1]])
        return found

    yield "answers", answers

    def by_pipeline():
        made = pipeline("question-answering", model=model, tokenizer=tokenizer, device="cpu")
        return [made(question=question, context=text, doc_stride=32, max_seq_len=128, top_k=3) for text in texts[:3]]

    yield "the pipeline", by_pipeline
