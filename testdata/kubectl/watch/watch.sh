# watch.sh COMMAND...: lets the command watch while the object is changed, until it has told of a change,
# and deleted; then shows what it has told. Meanwhile the status changes as often as it likes.
: >said
"$@" >>said 2>&1 &
watcher=$!
until_said() {
    tries=0
    until grep -q "^$1 " said || [ "$tries" -ge 100 ]; do
        [ "$1" = DELETED ] || kubectl label --overwrite upstream petstore "seen=$tries" >>changes
        sleep 0.1
        tries=$((tries + 1))
    done
}
until_said MODIFIED
kubectl delete upstream petstore >>changes
until_said DELETED
kill "$watcher"
wait "$watcher"
awk '{ print $1, $2, $3 }' said | uniq
exit 0
