# `just`, the recipe runner: its PyPI wheel, else one that is on PATH.

just_version=1.59.0

# The stamp says which version was fetched, or that another one had to do.
just_ready() {
    [ -x "$tools/bin/just" ] || return 1
    [ -f "$tools/just.stamp" ] || return 1
    read -r just_stamp <"$tools/just.stamp" || return 1
    [ "$just_stamp" = "version $just_version" ] || [ "$just_stamp" = "instead of $just_version" ]
}

just_get() {
    if [ -x "$tools/bin/just" ] && [ "$("$tools/bin/just" --version)" = "just $just_version" ]; then
        echo "version $just_version" >"$tools/just.stamp"
        return 0
    fi
    say "fetching just $just_version (PyPI wheel rust-just, 2 MB)"
    if fetch_wheel "rust-just==$just_version" /scripts/just "$tools/bin/just"; then
        echo "version $just_version" >"$tools/just.stamp"
        return 0
    fi
    if have just && [ "$(command -v just)" != "$tools/bin/just" ]; then
        say "$fetch_problem; using $(command -v just)"
        ln -sf "$(command -v just)" "$tools/bin/just"
        echo "instead of $just_version" >"$tools/just.stamp"
        return 0
    fi
    # An older one that is there may well do.
    if [ -x "$tools/bin/just" ]; then
        say "$fetch_problem; keeping $("$tools/bin/just" --version)"
        echo "instead of $just_version" >"$tools/just.stamp"
        return 0
    fi
    die "just cannot be had: $fetch_problem" "install just (for example: cargo install just) and run ./x again"
}
