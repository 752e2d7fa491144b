#!/usr/bin/env bash
# A tour of what operates Keyward: each command of the command line and each endpoint of the
# administration ports, in order, against a stack of its own that is stopped at the end.
#
#   ./x build-dev && examples/tour.sh       (or with any `keyward` on PATH)
#
# Ports are those of `./x up`, and the same variables change them (KEYWARD_GATEWAY_PORT, ...).
# Anything that does not do what it should ends the tour with its exit code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PATH="$PWD/target/debug:$PWD/.tools/bin:$PATH"
export KEYWARD_GATEWAY_PORT="${KEYWARD_GATEWAY_PORT:-8080}" KEYWARD_REST_PORT="${KEYWARD_REST_PORT:-9080}"
export KEYWARD_ADMIN_PORT="${KEYWARD_ADMIN_PORT:-19000}" KEYWARD_SNAPSHOTS_PORT="${KEYWARD_SNAPSHOTS_PORT:-9095}"
export KEYWARD_SERVER="http://127.0.0.1:$KEYWARD_REST_PORT" KEYWARD_ADMIN_URL="http://127.0.0.1:$KEYWARD_ADMIN_PORT"
export START_STATS_SERVER=true KEYWARD_STATS="127.0.0.1:${KEYWARD_STATS_PORT:-9091}"
export KEYWARD_DEV_ADMIN="127.0.0.1:${KEYWARD_DEV_PORT:-10010}"
gateway="http://127.0.0.1:$KEYWARD_GATEWAY_PORT"
proxy="http://127.0.0.1:$KEYWARD_ADMIN_PORT"
debug="http://$KEYWARD_STATS"
snapshots="http://127.0.0.1:$KEYWARD_SNAPSHOTS_PORT"
dev="http://$KEYWARD_DEV_ADMIN"

work="$(mktemp -d)"
export KEYWARD_DATA="$work/data"
leave() {
    keyward demo down >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap leave EXIT

# Shows a command and runs it; long output is cut after twelve lines, and long lines at their end.
run() {
    printf '\n$ %s\n' "$*"
    local code=0
    bash -o pipefail -c "$*" >"$work/said" 2>&1 || code=$?
    sed -n '1,12p' "$work/said" | cut -c1-160
    local lines
    lines=$(wc -l <"$work/said")
    if [ "$lines" -gt 12 ]; then echo "... ($lines lines)"; fi
    if [ "$code" -ne "${expected:-0}" ]; then
        echo "exit code $code instead of ${expected:-0}" >&2
        exit 1
    fi
}

# The same for a command whose exit code says something.
run_to() {
    local expected="$1"
    shift
    run "$@"
}

part() { printf '\n# %s\n' "$*"; }

keyward demo up --detach >"$work/up" 2>&1 || { cat "$work/up" >&2; exit 1; }
