# Keyward's recipes. Run them through ./x, which makes sure that the tools are there:
# ./x lists them, ./x NAME runs one.

set positional-arguments

target := env('CARGO_TARGET_DIR', 'target')
wasm_target := "wasm32-wasip1"
filter := target / wasm_target / "filter/keyward_filter.wasm"
faulty_filter := target / "fault-injection" / wasm_target / "filter/keyward_filter.wasm"

[private]
default:
    @just --list --unsorted

# Build and start everything; Ctrl-C stops it (--detach returns when ready, --help lists the flags)
[group('run')]
up *ARGS: program
    @exec "{{ target }}/debug/keyward" demo up "$@"

# Stop what `up --detach` started
[group('run')]
down *ARGS:
    @test -x "{{ target }}/debug/keyward" || { echo "nothing was built here, so nothing runs" >&2; exit 0; }; \
        exec "{{ target }}/debug/keyward" demo down "$@"

[private]
program: filter
    @cargo build -p keyward

# Build the keyward binary for production, with the filter inside
[group('build')]
build: filter
    cargo build --release -p keyward
    @echo "{{ target }}/release/keyward"

# Build the filter and print its size
[group('build')]
filter:
    @cargo build -q --profile filter --target {{ wasm_target }} -p keyward-filter
    @scripts/wasm-size "{{ filter }}"

# Build the filter that tests can make trap
[group('build')]
filter-faulty:
    @cargo build -q --profile filter --target {{ wasm_target }} -p keyward-filter \
        --features fault-injection --target-dir "{{ target }}/fault-injection"
    @scripts/wasm-size "{{ faulty_filter }}"

# Whoever tests the same tree twice asks the same questions; `properties` asks new ones.
export PROPTEST_RNG_SEED := env('PROPTEST_RNG_SEED', '1')

# Everything is built for one selection of packages, that of the workspace: with another one the features
# of its dependencies are others, and all of them are built once more.

# Every check there is: format, lints, both filters, all tests
[group('check')]
test:
    @scripts/step "format" cargo fmt --all --check
    @scripts/step "filter" just filter
    @scripts/step "filter that traps" just filter-faulty
    @scripts/step "lints of the filter" just lint-filter
    @scripts/step "lints" just lint-native
    @scripts/step "build of all tests" cargo test -q --no-run
    @scripts/step "unit tests" cargo test -q --lib --bins
    @scripts/step "examples in the documentation" cargo test -q --doc
    @scripts/step "fuzz, short" just fuzz 5
    @scripts/step "integration tests" cargo test --test '*'
    @echo "all checks passed" >&2

# Type-check everything, quickly
[group('check')]
check: filter
    cargo check --all-targets

# Format the code
[group('check')]
fmt:
    cargo fmt --all

# Lint everything, warnings denied
[group('check')]
lint: filter lint-filter lint-native

[private]
lint-filter:
    cargo clippy -q -p keyward-filter-abi -p keyward-filter --target {{ wasm_target }} -- -D warnings
    cargo clippy -q -p keyward-filter --target {{ wasm_target }} --features fault-injection -- -D warnings

[private]
lint-native:
    cargo clippy -q --all-targets -- -D warnings

# Throw random and mutated bytes at everything that reads bytes from others, for some seconds each
[group('check')]
fuzz SECONDS='60':
    KEYWARD_FUZZ_SECONDS={{ SECONDS }} cargo test --test fuzz -- --nocapture
    KEYWARD_FUZZ_SECONDS={{ SECONDS }} cargo test --test wasm fuzz -- --nocapture

# Run the property tests so many times, each time with other inputs
[group('check')]
properties ROUNDS='10':
    for seed in $(shuf -i 2-4294967295 -n {{ ROUNDS }}); do \
        echo "seed $seed: again with PROPTEST_RNG_SEED=$seed" >&2; \
        PROPTEST_RNG_SEED=$seed cargo test -q --workspace --exclude keyward-integration --exclude keyward-filter --exclude keyward-bench \
            || exit 1; \
    done

# Write all golden files and generated pages anew and delete those without a case; review the diff
[group('check')]
golden: filter
    UPDATE_GOLDENS=1 cargo test -q -p keyward-filter-core -p keyward-resource -p keyward-translate -p keyward-api \
        -p keyward-check -p keyward-cli \
        -- goldens the_reference every_case_is_said the_page_lists every_kind_is_shown standalone::tests::cases
    cargo build -q -p keyward
    UPDATE_GOLDENS=1 cargo test -q -p keyward -- the_page_of_commands
    UPDATE_GOLDENS=1 cargo test -q -p keyward-integration --test routing -- explanations_are_told
    UPDATE_GOLDENS=1 cargo test -q -p keyward-integration --test cli --test kubectl -- sessions
    git --no-pager diff --stat -- testdata docs

# Measure requests, revocations, full loads and the store against peers (--quick takes minutes; --help lists the flags)
[group('check')]
bench *ARGS: filter
    @cargo build -q --release -p keyward -p keyward-bench
    @exec "{{ target }}/release/keyward-bench" "$@"

# Make sure that there is a kubectl for the tests (KUBECTL=PATH ./x kubectl uses that one), and say which
[group('check')]
kubectl:
    @kubectl version --client

# Make sure that there is a promtool for the tests (PROMTOOL=PATH ./x promtool uses that one), and say which
[group('check')]
promtool:
    @promtool --version

# Check licences and sources of the dependencies (needs cargo-deny)
[group('check')]
deny:
    cargo deny check
