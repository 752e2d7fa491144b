# kubectl, a client that the tests drive.

# The oldest minor version of 1 that is tested with.
kubectl_oldest=20

kubectl_ready() { tool_ready kubectl "${KUBECTL:-}"; }

# The stable release first; the last one has the oldest.
kubectl_get() {
    tool_get kubectl "${KUBECTL:-}" "1.$kubectl_oldest" "trixie forky bookworm" "kubectl kubernetes-client"
}

# `kubectl version --client` says v1.36.4 in one line, and before 1.28 in the words of a Go structure.
kubectl_works() {
    minor=$("$1" version --client 2>/dev/null | sed -n 's/.*v1\.\([0-9]*\)\..*/\1/p' | head -n 1)
    [ -n "$minor" ] && [ "$minor" -ge "$kubectl_oldest" ]
}
