"""Checks the plain English of documentation, docstrings, comments, messages and help texts.

    python tools/check_prose.py [--count] [PATH ...]

Prints `path:line: rule: sentence` for each fault and exits with 1 if it finds any; `--count` prints totals by rule and
folder instead. Without paths it checks all tracked files. A comment `prose: RULE` in a paragraph, or on the line above
it, allows that rule there. Published prose linters read no messages or help texts, so this is a script of our own.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

MOST_WORDS, MOST_SENTENCES = 30, 6
KINDS = (".md", ".py", ".pyi", ".h", ".cpp", ".cu", ".hip")
RULES = {
    "opening": r"^(What|Whoever|Whatever|Whom?)\b(?!.*\?)",
    "nobody": r"(?i)\b(somebody|nobody|everybody|whoever|whomever|(one|ones|he|him) who|that one's)\b",
    "so many": r"(?i)\b(so many|so much|as (many|much|far|few) as there|the like|and gone)\b",  # prose: so many
    "those that": r"(?i)\b(those that|that which)\b",
    "there is": r"(?i)\bthere (is|are|was|were|has been|would be)\b",
    "is no": r"(?i)\b(is|are|was|were) no\b(?! (longer|more|fewer|less|slower|faster|larger)\b)",
    "is to be": r"(?i)\b(is|are|was|were|has|have|had) to be\b|\bas [\w `]+ (has|have|had) it\b",
    "stands": r"(?i)\b(stands?|stood|lies|goes on|going on|went on)\b(?!-| for\b)",  # prose: stands
    "of what": r"(?i)\b(of|for|with|in|by|from|on|than|as|but|all|at|into|before|behind|beside|over|under) what\b",
    "is what": r"(?i)\b(is|are|was|were|be) (what|who)\b",
    "place of": r"(?i)\bin the place of\b|\bin (its|their) place\b",
}
ASIDE = re.compile(r"``.*?``|`[^`]*`|\]\([^)]*\)|<[^<>]+>|https?://\S+", re.S)
LEAD = re.compile(r"^[\s#>*+-]+|^\s*\d+\. |^\s*[\w`*.]+( \([^)]*\))?: |^\s*\*\*[^*]+\*\*:? *")
SENTENCE_END = re.compile(r"(?<=[.!?])[)\"'*_]*\s+|(?<=:)\n")
C_TEXTS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
MARKS = re.compile(r"^(#:?|//+<?!?|/\*+) ?|\*+/$|^ +\*(?= )", re.M)
EXAMPLE = re.compile(r"^ *(>>>|\.\.\.) .*\n(.+\n)*", re.M)
EXCEPTION = re.compile(r"(<!-- )?prose: [a-z ]+( -->)?$", re.M)
NEW_ITEM = re.compile(r"\s*([-*+|#>]|\d+\.|[\w`*, ]+( \([^)]*\))?: |>>>|\.\. |Args:|Returns:|Raises:|python -m )")

Paragraph = tuple[int, str]
"""The first line's number, and the text."""


def paragraphs(path: str, text: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of prose in a file."""
    if path.endswith(".md"):
        without_code = re.compile(r"^(```|~~~).*?^\1[^\n]*$|<!--(?! prose:).*?-->", re.S | re.M)
        yield from split(1, without_code.sub(lambda code: "\n" * code[0].count("\n"), text))
    elif path.endswith(".py"):
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        yield from comments([(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT])
        nodes = list(ast.walk(ast.parse(text)))
        docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
        inside = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in nodes:
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "`x`" for part in node.values)
                yield from message(node.lineno, "".join(map(str, parts)), path)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
                found = split(node.lineno, EXAMPLE.sub("\n", node.value)) if node in docstrings else None
                yield from found or message(node.lineno, node.value, path)
    else:
        texts = [(text.count("\n", 0, found.start()) + 1, found[0]) for found in C_TEXTS.finditer(text)]
        yield from comments([(line, said) for line, said in texts if said[:2] in ("//", "/*")])
        for line, said in texts:
            yield from message(line, said[1:-1] if said[0] == '"' else "", path)


def message(line: int, text: str, path: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of a string if it has several words. Leaves out strings of tests, which are mostly input."""
    is_prose = text.count(" ") > 2 and re.search("[a-z]{4}", text)
    return split(line, text if is_prose and not path.startswith("tests/") else "")


def comments(lines: list[Paragraph]) -> Iterator[Paragraph]:
    """Yield the paragraphs of comments. Comments on consecutive lines are one text."""
    for _, run in groupby(enumerate(lines), lambda place: place[1][0] - place[0]):
        texts = dict(row for _, row in run)
        yield from split(min(texts), MARKS.sub("", "\n".join(texts.values())))


def split(line: int, text: str) -> Iterator[Paragraph]:
    """Cut a text at blank lines and at the items of lists, tables and arguments."""
    held: list[str] = []
    for number, row in enumerate([*EXCEPTION.sub("", text).splitlines(), ""], line):
        if held and (not row.strip() or NEW_ITEM.match(row)):
            yield number - len(held), "\n".join(held)
            held = []
        if row.lstrip().startswith("|"):
            yield from ((number, part) for part in re.split(r"\||; ", row) if part.strip(" -:"))
        elif row.strip():
            held.append(row)


def faults(path: str) -> Iterator[tuple[str, str, int, str]]:
    """Yield rule, path, line and sentence of each fault that no comment ``prose: RULE`` allows."""
    text = Path(path).read_text(encoding="utf-8")
    for line, paragraph in paragraphs(path, text):
        plain = ASIDE.sub("x", LEAD.sub("", paragraph)).strip()
        sentences = [" ".join(sentence.split()) for sentence in SENTENCE_END.split(plain) if sentence]
        broken = [(rule, said) for said in sentences for rule, wording in RULES.items() if re.search(wording, said)]
        broken += [("long sentence", said) for said in sentences if len(said.split()) > MOST_WORDS]
        broken += [("long paragraph", sentences[0])] * (len(sentences) > MOST_SENTENCES)
        excuses = "\n".join(text.splitlines()[max(line - 2, 0) : line + paragraph.count("\n")])
        yield from ((rule, path, line, said) for rule, said in broken if f"prose: {rule}" not in excuses)


def main(arguments: list[str]) -> int:
    """Print the faults. Returns the exit status: 1 if a rule is broken."""
    names = [name for name in arguments if name != "--count"]
    listed = subprocess.check_output(["git", "ls-files", *names], text=True).split()
    checked = [path for path in listed if path.endswith(KINDS) and not path.startswith("docs/examples/")]  # generated
    found = [fault for path in checked for fault in faults(path)]
    if "--count" in arguments:
        for (rule, folder), number in sorted(Counter((row[0], row[1].partition("/")[0]) for row in found).items()):
            print(f"{rule:16}{folder:16}{number:6}")
    else:
        for rule, path, line, sentence in found:
            print(f"{path}:{line}: {rule}: {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
