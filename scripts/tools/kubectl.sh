# kubectl, a client that the tests drive: the one named by KUBECTL, else the one on PATH, else Debian's
# package, unpacked without being installed.

# The oldest minor version of 1 that is tested with.
kubectl_oldest=20

kubectl_ready() {
    [ -x "$tools/bin/kubectl" ] || return 1
    [ -f "$tools/kubectl.stamp" ] || return 1
    read -r kubectl_stamp <"$tools/kubectl.stamp" || return 1
    if [ -n "${KUBECTL:-}" ]; then [ "$kubectl_stamp" = "chosen $KUBECTL" ]; return; fi
}

kubectl_get() {
    rm -f "$tools/kubectl.stamp"
    if [ -n "${KUBECTL:-}" ]; then
        kubectl_works "$KUBECTL" || die "$KUBECTL is no kubectl 1.$kubectl_oldest or newer" \
            "give the path of one, or leave KUBECTL away"
        kubectl_use "$KUBECTL" "chosen $KUBECTL"
        return 0
    fi
    on_path=$(command -v kubectl || true)
    # Our own link is no source.
    [ "$on_path" != "$tools/bin/kubectl" ] || on_path=
    if [ -n "$on_path" ] && kubectl_works "$on_path"; then
        say "using the kubectl at $on_path"
        kubectl_use "$on_path" "path $on_path"
    else
        kubectl_debian
    fi
}

# A script and not a link: some kubectls look beside themselves for others.
kubectl_use() {
    rm -f "$tools/bin/kubectl"
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$1" >"$tools/bin/kubectl"
    chmod 755 "$tools/bin/kubectl"
    echo "$2" >"$tools/kubectl.stamp"
}

# `kubectl version --client` says v1.36.4 in one line, and before 1.28 in the words of a Go structure.
kubectl_works() {
    minor=$("$1" version --client 2>/dev/null | sed -n 's/.*v1\.\([0-9]*\)\..*/\1/p' | head -n 1)
    [ -n "$minor" ] && [ "$minor" -ge "$kubectl_oldest" ]
}

kubectl_debian() {
    hint="install kubectl 1.$kubectl_oldest or newer and run ./x again, or name one: KUBECTL=PATH ./x ..."
    need apt-get "$hint"
    need dpkg "$hint"
    scratch
    debian_sources
    # The stable release first; the last one has the oldest.
    for suite in trixie forky bookworm; do
        debian_index "$suite" || continue
        for package in kubectl kubernetes-client; do
            version=$(debian_newest "$package")
            [ -n "$version" ] || continue
            kubectl_unpack "$package=$version" || continue
            kubectl_use "$tools/kubectl-$version" "debian $version"
            scratch_done
            return 0
        done
    done
    die "the Debian mirror has no kubectl that runs on this machine" "$hint"
}

# kubectl_unpack PACKAGE=VERSION: false for a package without the program in it, or one that does not run.
kubectl_unpack() {
    say "fetching $1 (17 MB)"
    rm -rf "$scratch_dir/debs" "$scratch_dir/root"
    mkdir "$scratch_dir/debs" "$scratch_dir/root"
    (cd "$scratch_dir/debs" && run "$scratch_dir/log" debian_apt apt-get -q download "$1") || return 1
    dpkg -x "$scratch_dir"/debs/*.deb "$scratch_dir/root" || return 1
    kubectl_works "$scratch_dir/root/usr/bin/kubectl" || return 1
    mv -f "$scratch_dir/root/usr/bin/kubectl" "$tools/kubectl-$version"
}
