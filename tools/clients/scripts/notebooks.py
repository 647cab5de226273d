"""Jupyter: a kernel of its own runs a notebook by nbclient, and nbconvert makes a page of it."""

import copy
import re

from clients.client import Client, Kit, Tasks

CLIENT = Client(
    ("nbclient", "nbconvert", "ipykernel", "nbformat"),
    install=("transformers", "tokenizers"),
    how="in the kernel, by the two variables of `crayon-hf run --env --install all`",
    note="compared but for what ours adds, which must be there: coloured tokens, and the progress of training BPE; "
    "a kernel's start is a part of `run`",
    row="notebooks: nbclient / nbconvert",
)
CELLS = {
    "open": "from tokenizers import Tokenizer\n"
    "from transformers import AutoTokenizer\n"
    "tok, raw = AutoTokenizer.from_pretrained(directory), Tokenizer.from_file(file)",
    "ids": "print(tok(texts)['input_ids'])",
    "tokenizer": "tok",
    "batch": "tok(texts[:2])",
    "encoding": "tok(texts[0])[0]",
    "library": "raw",
    "library-encoding": "raw.encode(texts[1])",
    "encodings": "raw.encode_batch(texts)",
    "text": "tok.decode(tok(texts[0])['input_ids'])",
    "train": "trained = tok.train_new_from_iterator(texts * 60, 2000)",
    "trained": "trained",
    "trained-ids": "trained(texts)['input_ids']",
}
COLOURED = ("tokenizer", "encoding", "library", "library-encoding", "trained")
"""The cells whose results are coloured tokens with ours."""


def tasks(kit: Kit) -> Tasks:
    import os

    os.environ |= {
        "IPYTHONDIR": str(kit.work / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "1",
        **{f"JUPYTER_{name}_DIR": str(kit.work / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")},
    }
    if kit.ours:
        from crayon_hf.patching import startup

        os.environ |= startup.variables("all", os.environ)
    import nbformat
    import transformers
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    looked_at = set()
    for name in ("llama3", "bert-cased"):
        texts = [text[:600] for text in kit.texts(6, 1024) + kit.texts(6, 1024, "multi")]
        names = {"directory": kit.directory(name), "file": kit.file(name), "texts": texts}
        begin = "".join(f"{key} = {value!r}\n" for key, value in names.items())
        cells = [
            nbformat.v4.new_code_cell(begin + source if key == "open" else source, id=key)
            for key, source in CELLS.items()
            if name == "llama3" or not key.startswith("train")  # the library's WordPiece comes out otherwise each time
        ]
        notebook = nbformat.v4.new_notebook(cells=cells)

        def executed(notebook=notebook):
            NotebookClient(notebook, timeout=600, record_timing=False, coalesce_streams=True).execute()
            if kit.ours:
                _check(notebook)
            return {cell.id: _common(cell) for cell in notebook.cells}

        def exported(notebook=notebook, name=name):
            """nbconvert's page without what is ours alone: the same, byte for byte."""
            same = copy.deepcopy(notebook)
            for cell in same.cells:
                cell.outputs = _common(cell)
            page, _ = HTMLExporter(template_name="classic").from_notebook_node(same)
            if kit.ours and name not in looked_at:  # once, before the rounds: it is no work of a user's
                looked_at.add(name)
                whole, _ = HTMLExporter(template_name="classic").from_notebook_node(notebook)
                count = whole.count('<div class="crayon-hf">')
                assert count == len(_coloured(notebook)), f"the page has {count} times coloured tokens"
            return page

        yield f"run, {name}", executed
        yield f"classic HTML, {name}", exported
        tokenizer = transformers.AutoTokenizer.from_pretrained(kit.directory(name))
        yield (
            f"ids of the kernel and of this process, {name}",
            lambda it=tokenizer, texts=texts, notebook=notebook: [
                notebook.cells[1].outputs[0].text == f"{it(texts)['input_ids']}\n",
                it(texts)["input_ids"],
            ],
        )


def _common(cell):
    """What stock gives as well: all but HTML, and what training says of its progress (stock: empty lines)."""
    kept = []
    for output in cell.outputs:
        if output.output_type == "stream" and cell.id == "train":
            continue
        output = copy.deepcopy(output)
        output.get("data", {}).pop("text/html", None)
        kept.append(output)
    return kept


def _coloured(notebook):
    """The cells whose results are coloured tokens."""
    return [
        cell.id
        for cell in notebook.cells
        if any('<div class="crayon-hf">' in output.get("data", {}).get("text/html", "") for output in cell.outputs)
    ]


def _check(notebook):
    """Raise an AssertionError if what ours adds is not there."""
    cells = {cell.id: cell for cell in notebook.cells}
    wanted = [name for name in COLOURED if name in cells]
    assert _coloured(notebook) == wanted, f"coloured tokens are in {_coloured(notebook)}, not in {wanted}"
    if "train" in cells:
        said = "".join(output.text for output in cells["train"].outputs if output.get("name") == "stderr")
        assert re.search("Compute merges.*100 %", said), f"training said {said!r}"
