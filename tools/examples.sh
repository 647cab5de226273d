#!/usr/bin/env bash
# Writes parity reports of the vocabularies in CRAYON_SHARED, and a model card, to build/examples. About 20 minutes.
# Arguments choose parts: `tokenizers` and `tiktoken` (comparisons with this library), `report` (lite.json), `card`.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/examples
cd build/examples
: "${CRAYON_SHARED:?names the directory with vocab/ and corpus/}"
crayon() { "${PYTHON:-python3}" -P -m crayon_hf "$@"; }
parts=${*:-tokenizers tiktoken report card}

for part in $parts; do
    case $part in
    tokenizers)
        for directory in "$CRAYON_SHARED"/vocab/*/; do
            name=$(basename "$directory")
            # vocab/gguf has two vocabularies, and expected ids of llama.cpp, but no tokenizer.json.
            [ "$name" = gguf ] || crayon parity "$name" --against tokenizers --no-speed --markdown "$name-tokenizers.md"
        done
        ;;
    tiktoken)
        for name in r50k_base cl100k_base o200k_base; do
            crayon parity "$name" --against tiktoken --markdown "$name-tiktoken.md" --html "$name-tiktoken.html"
        done
        ;;
    report)
        crayon parity lite --json lite.json
        ;;
    card)
        made=$(mktemp -d)
        HF_HUB_OFFLINE=1 crayon publish someone/r50k --from "$CRAYON_SHARED/vocab/r50k_base" --license mit --dry-run "$made"
        mkdir -p card/crayon-hf
        cp "$made/README.md" card/
        cp "$made"/crayon-hf/speed.* card/crayon-hf/
        rm -r "$made"
        ;;
    esac
done
