"""Engine.mismatch: whether a cartridge is what the compiler makes of a tokenizer.json.

The twin compiles both and compares the sections in plain Python; of the components, what they mean.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crayon_hf import _core
from crayon_hf.errors import CartridgeError, VocabularyError
from tests.support import cartridge_reader as plain
from tests.support.cartridge_cases import TEXTS, child, compiled, parsed, rewritten, sections_of, signed
from tests.support.cartridge_text import NAMES, text_source
from tests.support.compile_rule import changed, document, places, replace_by, roberta_document
from tests.support.reference_impl import Document
from tests.support.sampling import sampled

KINDS = ("gpt2_like", "llama3_like", "qwen_like", "roberta_like", "every_case", "longest_case", *NAMES)
METADATA = '{"reference":"tokenizers"}'


@pytest.fixture(scope="session", params=sampled(KINDS, 3))
def text(request: pytest.FixtureRequest) -> bytes:
    """The bytes of a tokenizer.json, one of every kind of vocabulary."""
    return source_of(request, request.param)


def source_of(request: pytest.FixtureRequest, kind: str) -> bytes:
    if kind in NAMES:
        return text_source(kind)
    path: Path = request.getfixturevalue(kind)
    return path.read_bytes()


def opened(source: bytes) -> _core.Engine:
    return _core.Engine.from_bytes(compiled(source))


def encoded(document: Document, **options: Any) -> bytes:
    return json.dumps(document, **options).encode()


# -- the twin

OPTIONS: dict[str, dict[str, Any]] = {
    "BPE": {
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
    },
    "WordPiece": {"unk_token": None, "continuing_subword_prefix": None, "max_input_chars_per_word": None},
    "WordLevel": {"unk_token": None},
    "Unigram": {"unk_id": None, "byte_fallback": False},
}


def meaning(cartridge: bytes) -> dict[str, Any]:
    """Everything in a cartridge but its certificate and how its source is listed, the components as they are read."""
    out: dict[str, Any] = {plain.NAMES[number]: data for number, data in sections_of(cartridge).items()}
    out.pop("reads_alike", None)
    components = json.loads(out["components"])
    model = components["model"]
    options = OPTIONS[model["type"]]
    kept = {name: model[name] for name in options if model.get(name) is not None}
    if kept.get("dropout") is not None:
        kept["dropout"] = float(kept["dropout"])
    components["model"] = {"type": model["type"], **options, **kept}
    out["components"] = json.dumps(components, sort_keys=True)
    return out


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except VocabularyError as error:
        return type(error)


def check(base: bytes, other: bytes) -> str | None:
    """The law, for a cartridge of `base` and any document. What mismatch says."""
    engine = opened(base)
    found = outcome(lambda: engine.mismatch(other))
    cartridge = outcome(lambda: _core.compile_tokenizer_json(other, METADATA))
    if isinstance(cartridge, type):
        assert found is cartridge, f"the compiler raises {cartridge.__name__}, mismatch says {found}"
        return None
    if meaning(cartridge) == meaning(compiled(base)):
        assert found is None
    else:
        assert isinstance(found, str), "it compiles to something else"
        assert found
        assert found.isprintable() or "\\" not in found
        assert len(found.splitlines()) == 1
    return found


# -- what is the same


def shuffled(value: Any, rng: random.Random) -> Any:
    """The members of every object in another order."""
    if isinstance(value, list):
        return [shuffled(inner, rng) for inner in value]
    if not isinstance(value, dict):
        return value
    names = list(value)
    rng.shuffle(names)
    return {name: shuffled(value[name], rng) for name in names}


def test_the_same_in_other_words(text: bytes) -> None:
    engine = opened(text)
    assert engine.mismatch(text) is None
    source = json.loads(text)
    others = [source, shuffled(source, random.Random(1)), shuffled(source, random.Random(2))]
    for name in ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder", "version"):
        if source.get(name) is None or name == "version":
            others.append({key: value for key, value in source.items() if key != name})
    if "merges" in source["model"]:
        other = copy.deepcopy(source)
        pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in other["model"]["merges"]]
        other["model"]["merges"] = pairs
        others.append(other)
        if not any(" " in token for pair in pairs for token in pair):
            other = copy.deepcopy(other)
            other["model"]["merges"] = ["#version: 0.2", *(" ".join(pair) for pair in pairs)]
            others.append(other)
    # The ids of added tokens are counted: what the file says does not matter.
    others.append(source | {"added_tokens": [token | {"id": 0} for token in source["added_tokens"]]})
    others.append(source | {"added_tokens": source["added_tokens"] * 2})
    for number, other in enumerate(others):
        for spelled in (
            encoded(other),
            encoded(other, ensure_ascii=False, indent=3),
            encoded(other, separators=(",", ":")),
        ):
            assert engine.mismatch(spelled) is None, number
        assert check(text, encoded(other)) is None


def test_a_certificate_and_metadata_do_not_count(text: bytes) -> None:
    """Metadata is no fact of a tokenizer.json: whoever asks looks at it himself."""
    certified = _core.with_certificate(compiled(text), '{"a":1}')
    assert _core.Engine.from_bytes(certified).mismatch(text) is None
    more = json.dumps({"reference": "tokenizers", "name": "x", "control": [1, 2], "tokens": 7})
    assert _core.Engine.from_bytes(_core.compile_tokenizer_json(text, more)).mismatch(text) is None


def test_it_is_about_the_cartridge(text: bytes) -> None:
    engine = opened(text)
    components = json.loads(engine.components) | {"post_processor": None, "truncation": None}
    assert engine.with_components(json.dumps(components), []).mismatch(text) is None
    assert engine.greedy().mismatch(text) is None


@pytest.mark.parametrize("reference", ["tokenizers", "tiktoken", None])
@pytest.mark.parametrize("flavor", ["oniguruma", "rust_regex"])
def test_flavors(qwen_like: Path, reference: str | None, flavor: str) -> None:
    """A cartridge whose metadata names one library and whose patterns are another's would lie about its ids."""
    metadata = json.dumps({} if reference is None else {"reference": reference})
    data = qwen_like.read_bytes()
    found = _core.Engine.from_bytes(_core.compile_tokenizer_json(data, metadata, flavor)).mismatch(data)
    if (reference == "tiktoken") == (flavor == "rust_regex"):
        assert found is None
    else:
        assert found is not None
        assert found.startswith("flavor: ")


# -- one fact changed


def swapped(model: Document, one: str, two: str) -> None:
    model["vocab"][one], model["vocab"][two] = model["vocab"][two], model["vocab"][one]


def one_change(source: Document) -> dict[str, tuple[Document, str]]:
    """Documents with one other fact, and what the line must begin with."""
    out: dict[str, tuple[Document, str]] = {}

    def case(name: str, expected: str, change: Callable[[Document], Any]) -> None:
        other = copy.deepcopy(source)
        change(other)
        out[name] = (other, expected)

    model = source["model"]
    vocab, merges = model["vocab"], model.get("merges")
    if isinstance(vocab, dict):
        one, two = list(vocab)[-1], next(token for token in vocab if len(token) == 1)
        case("two tokens swapped", "(token|merge) ", lambda d: swapped(d["model"], one, two))
        free = max(*vocab.values(), *(t["id"] for t in source["added_tokens"]), 0) + 1
        case("a token more", "token ", lambda d: d["model"]["vocab"].update({"qqqq": free}))
        case("a raw token more", "token ", lambda d: d["model"]["vocab"].update({"\u4e2dq": free}))
    else:
        case("a score", "the score of token 3", lambda d: d["model"]["vocab"][3].__setitem__(1, -3.25))
        case("a token", "token 5: ", lambda d: d["model"]["vocab"][5].__setitem__(0, "qqqq"))
        case("unk_id", r"model\.unk_id: 1 ", lambda d: d["model"].update(unk_id=1))
        case("a piece more", f"token {len(vocab)}: ", lambda d: d["model"]["vocab"].append(["qqqq", -1.0]))
    if merges:
        case("two merges exchanged", "merge 0: ", lambda d: d["model"]["merges"].insert(0, d["model"]["merges"].pop(1)))
        case("the last merge left out", "merge ", lambda d: d["model"]["merges"].pop())
        case("a merge again", "merge ", lambda d: d["model"]["merges"].append(merges[0]))
    if model["type"] == "BPE":
        case("ignore_merges", r"model\.ignore_merges: ", lambda d: d["model"].update(ignore_merges=True))
        if model.get("ignore_merges"):
            del out["ignore_merges"]
        case("dropout", "model", lambda d: d["model"].update(dropout=0.5))
    if model["type"] in ("WordPiece", "WordLevel"):
        case("unk_token", r"model\.unk_token: ", lambda d: d["model"].update(unk_token="[PAD]"))
    if model["type"] == "WordPiece" and model["continuing_subword_prefix"] != "":
        longest = r"model\.max_input_chars_per_word: 7 in the tokenizer.json, 100 in the cartridge"
        case("max_input_chars_per_word", longest, lambda d: d["model"].update(max_input_chars_per_word=7))
    for flag in ("single_word", "lstrip", "rstrip", "normalized", "special"):
        if source["added_tokens"]:
            value = not source["added_tokens"][-1][flag]
            case(f"added {flag}", "added token ", lambda d, f=flag, v=value: d["added_tokens"][-1].update({f: v}))
    if source["added_tokens"]:
        case("an added token less", "(token|added token) ", lambda d: d["added_tokens"].pop())
    new = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    case("an added token more", "token ", lambda d: d["added_tokens"].append(new | {"id": 0, "content": "<qq>"}))
    nfd, nfkc = {"type": "NFD"}, {"type": "Sequence", "normalizers": [{"type": "NFKC"}]}
    case("another normalizer", "(normalizer|token|added token)", lambda d: d.update(normalizer=nfd))
    case("a sequence", "(normalizer|token|added token)", lambda d: d.update(normalizer=nfkc))
    template = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 3}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {},
    }
    case("another template", "post_processor", lambda d: d.update(post_processor=template))
    case("another decoder", "decoder", lambda d: d.update(decoder={"type": "Fuse"}))
    truncation = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    case("truncation", "truncation: ", lambda d: d.update(truncation=truncation))
    padding = {
        "strategy": "BatchLongest",
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "x",
    }
    case("padding", "padding: ", lambda d: d.update(padding=padding))
    return out


def test_one_fact(text: bytes) -> None:
    source = json.loads(text)
    engine = opened(text)
    tried = 0
    for name, (other, expected) in one_change(source).items():
        data = encoded(other)
        if isinstance(outcome(lambda data=data: _core.compile_tokenizer_json(data)), type):
            continue  # the kind has no such fact
        found = engine.mismatch(data)
        assert found is not None, name
        assert plain_match(expected, found), f"{name}: {found}"
        assert check(text, data) == found
        assert opened(data).mismatch(text) is not None, name
        tried += 1
    assert tried >= 11


def plain_match(expected: str, found: str) -> bool:
    return re.match(expected, found) is not None


def test_what_the_lines_say() -> None:
    """Whole, for a person to read."""
    base = encoded(document())
    engine = opened(base)
    vocab = document()["model"]["vocab"]

    def said(*path: Any, value: Any) -> str | None:
        return engine.mismatch(changed(document(), path, replace_by(value)).encode())

    id = vocab["<s>"]
    place = "post_processor.processors[1].pair[1].SpecialToken.type_id"
    assert said("post_processor", "processors", 1, "pair", 1, "SpecialToken", "type_id", value=7) == (
        f"{place}: 7 in the tokenizer.json, 1 in the cartridge"
    )
    assert said("normalizer", value=None) == 'normalizer: null in the tokenizer.json, {"type":"NFC"} in the cartridge'
    assert said("added_tokens", 0, "special", value=False) == (
        f'added token 0: id {id} "<s>" in the tokenizer.json, id {id} "<s>" special in the cartridge'
    )
    assert said("model", "unk_token", value="a") == 'model.unk_token: "a" in the tokenizer.json, null in the cartridge'
    merges = document()["model"]["merges"]
    merges[0], merges[1] = merges[1], merges[0]
    assert said("model", "merges", value=merges) == (
        'merge 0: "a" "b" in the tokenizer.json, "\u0120" "a" in the cartridge'
    )
    other = document()
    other["model"]["vocab"]["\u2028\x85\x1b[31m" + "x" * 1000] = vocab.pop("\u4e2d")
    del other["model"]["vocab"]["\u4e2d"]
    line = engine.mismatch(encoded(other, ensure_ascii=False))
    assert line is not None
    assert line.startswith("token ")
    assert '"\\u2028\\u0085\\u001b[31mxxx' in line
    assert 'xxx... in the tokenizer.json, "\u4e2d" in the cartridge' in line


VALUES = (None, True, False, 0, 1, -1, 0.5, 0.0, 2**32, 10**30, "", "a", "NFC", [], ["a"], [["a", "b"]], {})


@settings(max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_any_change_of_a_small_document(data: st.DataObject) -> None:
    """Values replaced, left out, repeated, in up to three places: the law, whatever becomes of the document."""
    base = data.draw(st.sampled_from([document, roberta_document]))()
    other = copy.deepcopy(base)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(places(other), key=repr)))
        place: Any = other
        for key in path[:-1]:
            place = place[key]
        way = data.draw(st.sampled_from(["replace", "leave out", "twice", "reverse"]))
        if way == "replace":
            place[path[-1]] = copy.deepcopy(data.draw(st.sampled_from(VALUES)))
        elif way == "leave out":
            del place[path[-1]]
        elif isinstance(place, list):
            place.append(copy.deepcopy(place[path[-1]])) if way == "twice" else place.reverse()
        else:
            place[f"{path[-1]}x"] = place[path[-1]]
    check(encoded(base), encoded(other))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.sampled_from(NAMES), st.integers(0, 2**32))
def test_any_change_of_text_documents(name: str, seed: int) -> None:
    rng = random.Random(seed)
    source = json.loads(text_source(name))
    path = rng.choice(sorted(places(source), key=repr))
    value = rng.choice([*VALUES, rng.choice(["Replace", "Lowercase", 3, -2.5])])
    check(text_source(name), changed(source, path, replace_by(value)).encode())


def test_members_twice() -> None:
    """The last one counts, and then their order is what must agree."""
    base = encoded(document())
    engine = opened(base)
    byte_level = b'{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}'
    assert byte_level in base
    for more in (b'{"trim_offsets": true, ', b'{"trim_offsets": false, '):
        other = base.replace(byte_level, byte_level.replace(b"{", more))
        found = engine.mismatch(other)
        assert found is not None
        assert "twice" in found
        assert opened(other).mismatch(other) is None
    assert engine.mismatch(base[:-1] + b', "normalizer": {"type": "NFC"}}') is None
    assert engine.mismatch(base[:-1] + b', "normalizer": {"type": "NFD"}}') is not None


def test_documents_that_are_none(small: bytes) -> None:
    engine = _core.Engine.from_bytes(small)
    for data in (b"", b"[]", b"{}", b'{"model":', b'{"model":null}', b"\xff", b"[" * 10**6, b'{"model":{"vocab":{}}}'):
        wanted = outcome(lambda data=data: _core.compile_tokenizer_json(data))
        if isinstance(wanted, type):
            with pytest.raises(wanted):
                engine.mismatch(data)
        else:
            assert engine.mismatch(data) is not None
    with pytest.raises(TypeError):
        engine.mismatch("{}")  # type: ignore[arg-type]


# -- cartridges that lie


def test_a_cartridge_of_another_source(request: pytest.FixtureRequest, text: bytes) -> None:
    """Its digest says that it was compiled from `text`, every checksum is right, and it passes `verify`."""
    digest = hashlib.sha256(text).digest()
    kinds = [kind for kind in KINDS if source_of(request, kind) != text]
    others = [source_of(request, kind) for kind in kinds[:4] + kinds[-4:]]
    others += [encoded(other) for other, _ in one_change(json.loads(text)).values()]
    lies = 0
    for other in others:
        cartridge = outcome(lambda other=other: _core.compile_tokenizer_json(other, METADATA))
        if isinstance(cartridge, type):
            continue
        lie = _core.Engine.from_bytes(signed(cartridge[:32] + digest + cartridge[64:]))
        assert lie.source_digest == digest.hex()
        assert lie.mismatch(text) is not None
        lies += 1
    assert lies > 15


CODES = {"token_flags": "B", "token_trim": "H", "reachable_pilots": "H", "token_bytes": "B", "components": "B"}
CODES |= {"score_ulps": "b", "reads_alike": "B"}
CODES |= dict.fromkeys(("pair_table", "pair_filter", "byte_cuts", "reachable_slots", "char_pairs"), "Q")
CODES |= dict.fromkeys(("trie", "added_trie", "added_trie_normalized"), "i") | {"scores": "d"}


@pytest.mark.parametrize("kind", ["every_case", "longest_case", *NAMES])
def test_what_passes_both_is_the_same(kind: str, request: pytest.FixtureRequest) -> None:
    """Single elements changed at random and signed: a file that `verify` accepts and mismatch finds nothing in gives
    what the file that was compiled gives."""
    rng = random.Random(kind)
    source = source_of(request, kind)
    data, engine = compiled(source), opened(source)
    contents = {plain.NAMES[section.type]: section.data for section in parsed(data)[0] if section.data}
    del contents["metadata"]
    found: dict[str, int] = {"refused": 0, "differs": 0, "the same": 0}
    for _ in range(150):
        name = rng.choice(sorted(contents))
        size = struct.calcsize(CODES.get(name, "I"))
        content = bytearray(contents[name])
        index = rng.randrange(len(content) // size) * size
        other = rng.randrange(len(content) // size) * size
        way = rng.randrange(3)
        if way == 0:
            content[index] ^= 1 << rng.randrange(8)
        elif way == 1:
            content[index : index + size] = content[other : other + size]
        else:
            pair = bytes(content[index : index + size]), bytes(content[other : other + size])
            content[other : other + size], content[index : index + size] = pair
        try:
            lie = _core.Engine.from_bytes(rewritten(data, {name: bytes(content)}))
        except CartridgeError:
            found["refused"] += 1
            continue
        if lie.mismatch(source) is not None:
            found["differs"] += 1
            continue
        found["the same"] += 1
        assert lie.get_vocab() == engine.get_vocab()
        assert lie.added_tokens() == engine.added_tokens()
        assert meaning(rewritten(data, {name: bytes(content)}))["components"] == meaning(data)["components"]
        for sample in TEXTS:
            one, two = lie.encode(sample), engine.encode(sample)
            assert (one.ids, one.offsets, one.type_ids) == (two.ids, two.offsets, two.type_ids)
            assert lie.decode(one.ids) == engine.decode(one.ids)
    assert found["refused"] > 50


ASK = """
import sys, json
from crayon_hf import _core
from crayon_hf.errors import CartridgeError
source = open(sys.argv[1], "rb").read()
for line in sys.stdin:
    path = json.loads(line)
    try:
        engine = _core.Engine.open(path)
        answer = engine.mismatch(source) or "nothing"
    except CartridgeError:
        answer = "CartridgeError"
    print(json.dumps([path, answer]), flush=True)
"""


def test_files_that_were_never_verified(small: bytes, every_case: Path, tmp_path: Path) -> None:
    """Whatever is in them: a line, nothing or a CartridgeError, and no crash."""
    rng = random.Random(9)
    files = []
    contents = {plain.NAMES[section.type]: section.data for section in parsed(small)[0] if section.data}
    sections = ("token_offsets", "token_bytes", "token_flags", "merge_products", "pair_table")
    for name in (*sections, "components", "metadata"):
        for _ in range(12):
            content = bytearray(contents[name])
            for _ in range(rng.choice([1, 5, 100])):
                content[rng.randrange(len(content))] = rng.choice([0, 255, rng.randrange(256)])
            files.append(rewritten(small, {name: bytes(content)}))
        files.append(rewritten(small, {name: b"\xff" * len(contents[name])}))
    paths = []
    for number, data in enumerate(files):
        paths.append(str(tmp_path / f"{number}.dat"))
        Path(paths[-1]).write_bytes(data)
    done = child(ASK, str(every_case), lines="".join(json.dumps(path) + "\n" for path in paths).encode())
    assert done.returncode == 0, done.stderr.decode()[-300:]
    answers = dict(json.loads(line) for line in done.stdout.splitlines())
    assert list(answers) == paths
    assert len({answer.split(":")[0] for answer in answers.values()}) > 10


@pytest.mark.parametrize("name", ["gpt2", "llama2", "t5-small", "bert-cased"])
def test_published(shared: Path, name: str) -> None:
    data = (shared / "vocab" / name / "tokenizer.json").read_bytes()
    engine = opened(data)
    assert engine.mismatch(data) is None
    source = json.loads(data)
    assert engine.mismatch(encoded(shuffled(source, random.Random(3)))) is None
    model = source["model"]
    if "merges" in model:
        model["merges"][1000:1002] = reversed(model["merges"][1000:1002])
        wanted = "merge 1000: "
    elif isinstance(model["vocab"], list):
        model["vocab"][1000][1] -= 0.001
        wanted = "the score of token 1000"
    else:
        tokens = list(model["vocab"])
        swapped(model, tokens[1000], tokens[2000])
        wanted = "token "
    found = engine.mismatch(encoded(source))
    assert found is not None
    assert found.startswith(wanted)
