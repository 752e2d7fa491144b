# promtool, by which the tests check metrics, alerts and the dashboard as Prometheus itself would: the one
# named by PROMTOOL, else the one on PATH, else the one in Debian's package of Prometheus, unpacked without being
# installed.

# The oldest minor version of 2 that is tested with.
promtool_oldest=42

promtool_ready() {
    [ -x "$tools/bin/promtool" ] || return 1
    [ -f "$tools/promtool.stamp" ] || return 1
    read -r promtool_stamp <"$tools/promtool.stamp" || return 1
    if [ -n "${PROMTOOL:-}" ]; then [ "$promtool_stamp" = "chosen $PROMTOOL" ]; return; fi
}

promtool_get() {
    rm -f "$tools/promtool.stamp"
    if [ -n "${PROMTOOL:-}" ]; then
        promtool_works "$PROMTOOL" || die "$PROMTOOL is no promtool 2.$promtool_oldest or newer" \
            "give the path of one, or leave PROMTOOL away"
        promtool_use "$PROMTOOL" "chosen $PROMTOOL"
        return 0
    fi
    on_path=$(command -v promtool || true)
    # Our own link is no source.
    [ "$on_path" != "$tools/bin/promtool" ] || on_path=
    if [ -n "$on_path" ] && promtool_works "$on_path"; then
        say "using the promtool at $on_path"
        promtool_use "$on_path" "path $on_path"
    else
        promtool_debian
    fi
}

promtool_use() {
    ln -sf "$1" "$tools/bin/promtool"
    echo "$2" >"$tools/promtool.stamp"
}

# `promtool --version` begins with `promtool, version 2.42.0+ds (branch: ...`.
promtool_works() {
    promtool_version=$("$1" --version 2>/dev/null | sed -n 's/^promtool, version \([0-9]*\.[0-9]*\).*/\1/p')
    case $promtool_version in
        2.*) [ "${promtool_version#2.}" -ge "$promtool_oldest" ] ;;
        [3-9].*) return 0 ;;
        *) return 1 ;;
    esac
}

promtool_debian() {
    hint="install promtool 2.$promtool_oldest or newer and run ./x again, or name one: PROMTOOL=PATH ./x ..."
    need apt-get "$hint"
    need dpkg "$hint"
    scratch
    debian_sources
    # The stable release first.
    for suite in trixie bookworm forky; do
        debian_index "$suite" || continue
        version=$(debian_newest prometheus)
        [ -n "$version" ] || continue
        promtool_unpack "prometheus=$version" || continue
        promtool_use "../promtool-$version" "debian $version"
        scratch_done
        return 0
    done
    die "the Debian mirror has no promtool that runs on this machine" "$hint"
}

# promtool_unpack PACKAGE=VERSION: false for a package without the program in it, or one that does not run.
promtool_unpack() {
    say "fetching promtool with $1 (20 to 30 MB)"
    rm -rf "$scratch_dir/debs" "$scratch_dir/root"
    mkdir "$scratch_dir/debs" "$scratch_dir/root"
    (cd "$scratch_dir/debs" && run "$scratch_dir/log" debian_apt apt-get -q download "$1") || return 1
    dpkg -x "$scratch_dir"/debs/*.deb "$scratch_dir/root" || return 1
    promtool_works "$scratch_dir/root/usr/bin/promtool" || return 1
    mv -f "$scratch_dir/root/usr/bin/promtool" "$tools/promtool-$version"
}
