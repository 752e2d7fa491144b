# The Rust standard library for wasm32-wasip1 in the sysroot of the active tool chain: from rustup,
# or, where rustup has no network, built once from Debian's packages of the same sources.
#
# KEYWARD_WASM_STD=debian skips rustup (to try the second way).

wasm_target=wasm32-wasip1

# A library that we built carries the compiler it was built for; rlibs of another compiler are of no
# use, and rustup, which knows nothing of them, leaves them there when it updates the compiler.
wasm_std_ready() {
    sysroot=$(rustc --print sysroot)
    wasm_lib=$sysroot/lib/rustlib/$wasm_target
    set -- "$wasm_lib"/lib/libstd-*.rlib
    [ -e "$1" ] || return 1
    [ ! -f "$wasm_lib/built-for" ] || [ "$(cat "$wasm_lib/built-for")" = "$(rustc -vV)" ]
}

wasm_std_get() {
    wasm_std_rustup || wasm_std_debian
    wasm_std_ready || die "the standard library for $wasm_target is still not in $sysroot" \
        "run: rustup target add $wasm_target"
}

wasm_std_rustup() {
    [ "${KEYWARD_WASM_STD:-}" != debian ] || return 1
    have rustup || return 1
    # Ours would be in rustup's way.
    [ ! -f "$wasm_lib/built-for" ] || rm -rf "$wasm_lib"
    say "adding the standard library for $wasm_target with rustup"
    RUSTUP_MAX_RETRIES=0 bounded 60 rustup -q target add "$wasm_target" >/dev/null 2>&1 </dev/null &&
        wasm_std_ready && return 0
    say "rustup cannot (no network, or a tool chain that is not its own)"
    return 1
}

wasm_std_debian() {
    hint="where rustup has its network: rustup target add $wasm_target"
    need apt-get "building the library needs Debian's packages; $hint"
    need dpkg "building the library needs Debian's packages; $hint"
    need cc "building needs a C compiler as linker (Debian: apt-get install gcc libc6-dev)"
    [ -w "$sysroot/lib/rustlib" ] || die "$sysroot/lib/rustlib is not writable" \
        "install the standard library for $wasm_target there as its owner; $hint"
    say "building the standard library for $wasm_target from Debian's packages (about a minute)"
    scratch
    debian_sources
    # Backports first: two small indexes that hold both packages for a current compiler.
    for suites in "trixie-backports" "forky sid" "trixie"; do
        debian_index $suites || continue
        rust_src=$(debian_rust_src)
        wasi_libc=$(debian_newest wasi-libc)
        [ -z "$rust_src" ] || [ -z "$wasi_libc" ] || break
    done
    [ -n "${rust_src:-}" ] || die "no rust-src package for $(rustc --version) on the Debian mirror" "$hint"
    [ -n "${wasi_libc:-}" ] || die "no wasi-libc package on the Debian mirror" "$hint"
    debian_unpack "rust-src=$rust_src" "wasi-libc=$wasi_libc"
    wasm_std_build
    scratch_done
}

# The package whose upstream version is the compiler's, else the newest of the same minor version.
debian_rust_src() {
    release=$(rustc -vV | sed -n 's/^release: \([0-9.]*\).*/\1/p')
    versions=$(debian_apt apt-cache madison rust-src 2>/dev/null | awk -F'|' '{ gsub(/ /, "", $2); print $2 }')
    exact=$(echo "$versions" | grep "^$release[+~-]" | head -n 1)
    if [ -n "$exact" ]; then echo "$exact"; else echo "$versions" | grep "^${release%.*}\." | head -n 1; fi
}

debian_unpack() {
    mkdir "$scratch_dir/debs" "$scratch_dir/root"
    say "fetching $* (46 MB)"
    (cd "$scratch_dir/debs" && run "$scratch_dir/log" debian_apt apt-get -q download "$@") ||
        die "apt could not download $*" "$hint"
    for deb in "$scratch_dir"/debs/*.deb; do
        dpkg -x "$deb" "$scratch_dir/root" || die "cannot unpack $deb" "is the disk full?"
    done
}

# Builds std with cargo's own -Z build-std and lays the result out as rustup would.
wasm_std_build() {
    source=$(echo "$scratch_dir"/root/usr/src/rustc-*)
    libc=$scratch_dir/root/usr/lib/$wasm_target
    [ -d "$libc" ] || libc=$scratch_dir/root/usr/lib/wasm32-wasi
    new=$scratch_dir/$wasm_target
    mkdir -p "$new/lib/self-contained" "$scratch_dir/empty/src"
    for file in crt1-command.o crt1-reactor.o libc.a; do
        cp "$libc/$file" "$new/lib/self-contained/" || die "wasi-libc holds no $file" "$hint"
    done
    # Cargo wants the sources in the sysroot: lent for the time of the build, where there are none.
    lent=
    if [ ! -e "$sysroot/lib/rustlib/src/rust/library/std/Cargo.toml" ]; then
        mkdir -p "$sysroot/lib/rustlib/src"
        lent=$sysroot/lib/rustlib/src/rust
        rm -f "$lent"
        ln -s "$source" "$lent"
        trap 'rm -f "$lent"; rm -rf "$scratch_dir"' EXIT
    fi
    printf '[package]\nname = "empty"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n' >"$scratch_dir/empty/Cargo.toml"
    : >"$scratch_dir/empty/src/lib.rs"
    say "compiling std for $wasm_target"
    (cd "$scratch_dir/empty" && unset CARGO_TARGET_DIR CARGO_BUILD_TARGET CARGO_ENCODED_RUSTFLAGS &&
        run "$scratch_dir/log" env RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Cembed-bitcode=yes RUSTC_WRAPPER= \
            cargo build -q -Z build-std=std,panic_abort,panic_unwind --target "$wasm_target" --release \
            --target-dir "$scratch_dir/target") ||
        die "the standard library for $wasm_target did not build" "$hint"
    [ -z "$lent" ] || { rm -f "$lent"; rmdir "$sysroot/lib/rustlib/src" 2>/dev/null || true; }
    cp "$scratch_dir/target/$wasm_target/release/deps/"*.rlib "$new/lib/"
    rm -f "$new"/lib/libempty-*.rlib
    rustc -vV >"$new/built-for"
    # The sysroot may be on another file system than the scratch folder: copy beside, then rename.
    rm -rf "$wasm_lib" "$wasm_lib.new"
    cp -r "$new" "$wasm_lib.new" && mv "$wasm_lib.new" "$wasm_lib" ||
        die "cannot write $wasm_lib" "is the disk full?"
}
