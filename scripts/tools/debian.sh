# Packages of Debian, read and unpacked without being installed. Who uses this sets $hint: what else a
# person can do.

# The mirror is the one that this machine's own apt uses; only the suite differs.
debian_sources() {
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 2>/dev/null |
        sed -n 's|/*$||; /\/debian$/p' | head -n 1)
    [ -n "$mirror" ] || die "apt on this machine has no Debian mirror" "$hint"
    keyring=
    for file in /usr/share/keyrings/debian-archive-keyring.gpg /usr/share/keyrings/debian-archive-keyring.pgp; do
        [ ! -r "$file" ] || keyring=$file
    done
    [ -n "$keyring" ] || die "Debian's archive keyring is missing" "apt-get install debian-archive-keyring"
}

# debian_apt COMMAND...: apt with a sources list and state of our own; the machine's are not touched.
debian_apt() {
    command=$1
    shift
    "$command" -o Dir::Etc::SourceList="$scratch_dir/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$scratch_dir/apt/lists" -o Dir::Cache="$scratch_dir/apt/cache" \
        -o Dir::State::status="$scratch_dir/apt/status" -o Acquire::Languages=none \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Sandbox::User= \
        -o APT::Update::Post-Invoke-Success::= -o Acquire::Retries=2 "$@"
}

debian_index() {
    rm -rf "$scratch_dir/apt"
    mkdir -p "$scratch_dir/apt/lists/partial" "$scratch_dir/apt/cache/archives/partial"
    : >"$scratch_dir/apt/status"
    for suite in "$@"; do
        echo "deb [signed-by=$keyring] $mirror $suite main" >>"$scratch_dir/apt/sources.list"
    done
    say "reading the package index of $*"
    run "$scratch_dir/log" debian_apt apt-get -q update
}

debian_newest() {
    debian_apt apt-cache madison "$1" 2>/dev/null | awk -F'|' 'NR == 1 { gsub(/ /, "", $2); print $2 }'
}
