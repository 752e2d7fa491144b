"""Asks an Envoy which header values it takes, and writes them down beside this file.

    python3 record.py PATH_OF_ENVOY_1.40.0
"""

import concurrent.futures
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
FORMAT = HERE / "../../control/resource/src/kinds/routing/format.rs"


def config(value):
    route = {
        "match": {"prefix": "/"},
        "direct_response": {"status": 200},
        "request_headers_to_add": [{"header": {"key": "x-a", "value": value}}],
        "response_headers_to_add": [{"header": {"key": "x-a", "value": value}}],
    }
    manager = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "x",
        "route_config": {"virtual_hosts": [{"name": "v", "domains": ["*"], "routes": [route]}]},
        "http_filters": [
            {
                "name": "router",
                "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
            }
        ],
    }
    address = {"socket_address": {"address": "127.0.0.1", "port_value": 10123}}
    chain = {"filters": [{"name": "hcm", "typed_config": manager}]}
    return {"static_resources": {"listeners": [{"name": "l", "address": address, "filter_chains": [chain]}]}}


def takes(envoy, value):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config(value), file)
        file.flush()
        command = [envoy, "--mode", "validate", "-c", file.name, "-l", "off"]
        return subprocess.run(command, capture_output=True).returncode == 0


def values():
    source = FORMAT.read_text()
    names = re.findall(r'"([A-Z][A-Z0-9_]+)"', source)
    found = []
    for name in names:
        for argument in ("", "()", "(a)", "(:path)", "(a?b)", "(a:b)", "(a:b:c)", "(a b)", "(%s)", "(%Y-%m-%d)"):
            for length in ("", ":3"):
                found.append(f"%{name}{argument}{length}%")
    words = ["%", "%%", "%REQ(", "a", ")", ")%", ":", ":5", "?", "(", "%DURATION%", "%NOPE%", "%req(a)%", " ", "é"]
    chance = random.Random(5)
    for _ in range(600):
        found.append("".join(chance.choice(words) for _ in range(chance.randint(1, 6))))
    return list(dict.fromkeys(found))


def main():
    envoy = sys.argv[1]
    found = values()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda value: takes(envoy, value), found))
    recorded = {
        "taken": [value for value, taken in zip(found, answers) if taken],
        "refused": [value for value, taken in zip(found, answers) if not taken],
    }
    text = json.dumps(recorded, indent=0)
    (HERE / "header-commands.json").write_text(text + "\n")


main()
