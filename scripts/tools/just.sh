# `just`, the recipe runner: its PyPI wheel, else one that is on PATH.

just_version=1.59.0

just_ready() { [ -x "$tools/bin/just" ]; }

just_get() {
    say "fetching just $just_version (PyPI wheel rust-just, 2 MB)"
    if fetch_wheel "rust-just==$just_version" /scripts/just "$tools/bin/just"; then return 0; fi
    if have just && [ "$(command -v just)" != "$tools/bin/just" ]; then
        say "$fetch_problem; using $(command -v just)"
        ln -sf "$(command -v just)" "$tools/bin/just"
        return 0
    fi
    die "just cannot be had: $fetch_problem" "install just (for example: cargo install just) and run ./x again"
}
