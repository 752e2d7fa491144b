# promtool, by which the tests check metrics, alerts and the dashboard as Prometheus itself would.

# The oldest minor version of 2 that is tested with.
promtool_oldest=42

promtool_ready() { tool_ready promtool "${PROMTOOL:-}"; }

# The stable release first.
promtool_get() {
    tool_get promtool "${PROMTOOL:-}" "2.$promtool_oldest" "trixie bookworm forky" prometheus
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
