"""transformers' Whisper tokenizer: segments and words with their times, from ids as a model writes them."""

from clients.client import Client, Kit, Tasks

CLIENT = Client(("transformers",), row="transformers (Whisper's timestamps)")


def tasks(kit: Kit) -> Tasks:
    import numpy
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(kit.directory("whisper-tiny"))
    first = tokenizer.convert_tokens_to_ids("<|0.00|>")
    begin = [tokenizer.convert_tokens_to_ids(each) for each in ("<|startoftranscript|>", "<|en|>", "<|transcribe|>")]
    end = tokenizer.convert_tokens_to_ids("<|endoftext|>")

    def written(text, seconds):
        """A window of 30 s, with four segments."""
        words = text.split()
        size = max(1, len(words) // 4)
        ids = list(begin)
        for number in range(4):
            spoken = " " + " ".join(words[number * size : (number + 1) * size])
            ids += [
                first + number * 300,
                *tokenizer.encode(spoken, add_special_tokens=False),
                first + number * 300 + 250,
            ]
        return [*ids, end] if seconds else ids

    texts = kit.texts(40, 500) + kit.texts(40, 300, "multi")
    windows = [written(text, 30) for text in texts]
    yield "decode with timestamps", lambda: [tokenizer.decode(ids, decode_with_timestamps=True) for ids in windows]
    yield "decode with offsets", lambda: [tokenizer.decode(ids, output_offsets=True) for ids in windows]
    yield "decode without", lambda: tokenizer.batch_decode(windows, skip_special_tokens=True)

    def joined(kind):
        outputs = []
        for ids in windows[:30]:
            made = {"tokens": numpy.array([ids]), "stride": (30.0, 5.0, 5.0)}
            if kind == "word":
                times = [min(29.9, number * 0.2) for number in range(len(ids))]
                made["token_timestamps"] = numpy.array([times])
            outputs.append(made)
        return tokenizer._decode_asr(outputs, return_timestamps=kind, return_language=True, time_precision=0.02)

    yield "windows joined, segments", lambda: joined(True)
    yield "windows joined, words", lambda: joined("word")
    yield "prompt ids", lambda: [tokenizer.get_prompt_ids(text[:200]).tolist() for text in texts[:40]]
    yield "normalize", lambda: [tokenizer.normalize(text) for text in texts[:40]]
