#!/usr/bin/env bash
# A tour of what operates Keyward: each command of the command line and each endpoint of the
# administration ports, in order, against a stack of its own that is stopped at the end.
#
# It runs what `./x up` builds, on the same ports, and the same variables change those
# (KEYWARD_GATEWAY_PORT, ...); so stop what runs there, with `./x down`.
# Anything that does not do what it should ends the tour with its exit code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PATH="$PWD/target/debug:$PWD/.tools/bin:$PATH"
export KEYWARD_GATEWAY_PORT="${KEYWARD_GATEWAY_PORT:-8080}" KEYWARD_REST_PORT="${KEYWARD_REST_PORT:-9080}"
export KEYWARD_ADMIN_PORT="${KEYWARD_ADMIN_PORT:-19000}" KEYWARD_SNAPSHOTS_PORT="${KEYWARD_SNAPSHOTS_PORT:-9095}"
export KEYWARD_UPSTREAM_PORT="${KEYWARD_UPSTREAM_PORT:-8081}"
export KEYWARD_SERVER="http://127.0.0.1:$KEYWARD_REST_PORT" KEYWARD_PROXY_ADMIN="http://127.0.0.1:$KEYWARD_ADMIN_PORT"
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

# Shows a command and runs it; of long output the beginning, and of long lines.
run() {
    printf '\n$ %s\n' "${*//"$work"/\$work}"
    local code=0
    bash -o pipefail -c "$*" >"$work/said" 2>&1 || code=$?
    head -n "${lines:-12}" "$work/said" | cut -c1-160 | sed "s|$work|\$work|g"
    local all
    all=$(wc -l <"$work/said")
    if [ "$all" -gt "${lines:-12}" ]; then echo "... ($all lines)"; fi
    if [ "$code" -ne "${expected:-0}" ]; then
        echo "exit code $code instead of ${expected:-0}" >&2
        exit 1
    fi
}

# Shows a request and its answer, as soon as that has this status, which is at once or soon.
answer() {
    local status="$1" tries=100
    shift
    until [ "$(curl -s -o /dev/null -w '%{http_code}' "$@")" = "$status" ]; do
        tries=$((tries - 1))
        if [ "$tries" -eq 0 ]; then echo "no answer with $status" >&2; exit 1; fi
        sleep 0.1
    done
    run "curl -si ${*@Q}"
}

part() { printf '\n# %s\n' "$*"; }

keyward demo up --detach >"$work/up" 2>&1 || { cat "$work/up" >&2; exit 1; }

part "The command line: resources"
run keyward version
run keyward proxy url
run keyward create upstream static "--static-hosts 127.0.0.1:$KEYWARD_UPSTREAM_PORT" --name tour
run keyward create secret apikey tina --apikey tinas-own-key --apikey-labels plan=tour --wait=20s
run keyward create secret apikey tom --apikey-generate --apikey-labels plan=tour --wait=20s '>' "$work/tom.key"
run keyward create authconfig tour --enable-apikey-auth --apikey-label-selector plan=tour
run keyward create virtualservice tour --domains tour.example --authconfig tour
run keyward add route --name tour --path-prefix / --dest-name tour
run keyward get virtualservice tour -o kube-yaml
run keyward secret apikey list -l plan=tour

part "The gateway: a key is needed, and says who it is"
answer 401 -H 'host: tour.example' "$gateway/"
answer 200 -H 'host: tour.example' -H 'api-key: tinas-own-key' "$gateway/"
run keyward explain --host tour.example --path / --key-stdin '<' "$work/tom.key"
expected=4 run keyward explain --host tour.example --path /

part "The command line: checks, and what is served"
lines=30 run keyward check
run keyward proxy status
run keyward proxy served-config
run keyward proxy diff
run keyward proxy dump
run keyward proxy stats -n keyward-system --name gateway-proxy --filter keyward
run timeout --preserve-status -s INT 2 keyward proxy logs -f
run keyward proxy snapshot --directory "$work"
run keyward proxy bootstrap
run keyward debug logs -f "$work/logs.txt"
run keyward debug logs --errors-only
run keyward debug yaml -f "$work/all.yaml"
export KEYWARD_SNAPSHOTS_URL="$snapshots" KEYWARD_DEBUG_URL="$debug"
run keyward debug bundle -f "$work/bundle.zip"

part "What a mistake looks like"
run keyward apply -f examples/tour-broken.yaml
expected=1 lines=30 run keyward check
run keyward delete virtualservice broken
run keyward delete upstream broken
run keyward check -o json '|' head -c 60

part "The gateway proxy's admin, port 19000"
run curl -sfX POST "'$proxy/config_dump?include_eds'"
run curl -sfX POST "'$proxy/logging?level=debug'"
run curl -sfX POST "'$proxy/logging?wasm=info'"
run curl -sfX POST "'$proxy/logging?level=warning'"
run curl -sf "$proxy/logging"

part "The control server's debug port, 9091"
run curl -sf "$debug/"
run curl -sfX PUT "$debug/logging" -d "'{\"level\":\"debug\"}'"
run curl -sfX PUT "$debug/logging" -d "'{\"level\":\"info\"}'"
run curl -sf "$debug/metrics"
run curl -sf "'$debug/debug/pprof/profile?seconds=1'" -o "$work/cpu.pb.gz"
run curl -sf "$debug/debug/pprof/heap" -o "$work/heap.pb.gz"
run curl -sf "$debug/debug/tasks"
run curl -sf "'$debug/zpages/tracez?format=json'"
run curl -sf "'$debug/zpages/rpcz?format=json'"

part "Snapshots, port 9095"
run curl -sf "$snapshots/"
for snapshot in input edge proxies xds keys; do
    run curl -sf "'$snapshots/snapshots/$snapshot?pretty'"
done

part "Dev mode, port 10010, switched on by the Settings"
run keyward apply -f examples/tour-dev-mode.yaml
run curl -sf --retry 20 --retry-connrefused --retry-delay 1 "$dev/"
run curl -sf "$dev/xds"
run curl -sf "$dev/xds/keyward-system~gateway-proxy"
run curl -sf "$dev/api"

part "Done"
