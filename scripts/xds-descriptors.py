#!/usr/bin/env python3
"""Cuts the descriptors of the messages that proxies are told out of those of envoy-types.

    scripts/xds-descriptors.py

It writes control/admin/src/xds/descriptors.bin, and beside it what that was made of, which a test reads.
The crate brings a FileDescriptorSet of the whole Envoy API beside its sources and exports it nowhere.
To be run when envoy-types has another version, or when a message of another file is sent to proxies.
"""

import glob
import hashlib
import os
import re
import sys

ROOTS = """
envoy/config/cluster/v3/cluster.proto
envoy/config/common/mutation_rules/v3/mutation_rules.proto
envoy/config/core/v3/extension.proto
envoy/config/endpoint/v3/endpoint.proto
envoy/config/listener/v3/listener.proto
envoy/config/rbac/v3/rbac.proto
envoy/config/route/v3/route.proto
envoy/extensions/access_loggers/file/v3/file.proto
envoy/extensions/clusters/common/dns/v3/dns.proto
envoy/extensions/clusters/dns/v3/dns_cluster.proto
envoy/extensions/common/matching/v3/extension_matcher.proto
envoy/extensions/filters/common/fault/v3/fault.proto
envoy/extensions/filters/common/matcher/action/v3/skip_action.proto
envoy/extensions/filters/http/cors/v3/cors.proto
envoy/extensions/filters/http/fault/v3/fault.proto
envoy/extensions/filters/http/header_mutation/v3/header_mutation.proto
envoy/extensions/filters/http/rbac/v3/rbac.proto
envoy/extensions/filters/http/router/v3/router.proto
envoy/extensions/filters/http/upstream_codec/v3/upstream_codec.proto
envoy/extensions/filters/http/wasm/v3/wasm.proto
envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector.proto
envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto
envoy/extensions/http/early_header_mutation/header_mutation/v3/header_mutation.proto
envoy/extensions/http/header_formatters/preserve_case/v3/preserve_case.proto
envoy/extensions/matching/common_inputs/network/v3/network_inputs.proto
envoy/extensions/retry/priority/previous_priorities/v3/previous_priorities_config.proto
envoy/extensions/transport_sockets/proxy_protocol/v3/upstream_proxy_protocol.proto
envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer.proto
envoy/extensions/transport_sockets/tls/v3/secret.proto
envoy/extensions/transport_sockets/tls/v3/tls.proto
envoy/extensions/upstreams/http/v3/http_protocol_options.proto
envoy/extensions/wasm/v3/wasm.proto
envoy/type/matcher/v3/http_inputs.proto
google/protobuf/wrappers.proto
udpa/annotations/sensitive.proto
""".split()

# Of a FileDescriptorProto.
NAME, DEPENDENCY, COMMENTS = 1, 3, 9


def varint(data, at):
    shift = value = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message: number, content where it has a length, and all its bytes."""
    at = 0
    while at < len(data):
        start = at
        key, at = varint(data, at)
        content = None
        if key & 7 == 0:
            _, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            content = data[at : at + length]
            at += length
        else:
            at += {1: 8, 5: 4}[key & 7]
        yield key >> 3, content, data[start:at]


def length(number):
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def main():
    home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    found = sorted(glob.glob(f"{home}/registry/src/*/envoy-types-*/src/generated/types.bin"))
    if len(found) != 1:
        sys.exit(f"one version of envoy-types is needed in {home}/registry, there are {found}")
    files = {}
    for _, file, _ in fields(open(found[0], "rb").read()):
        parts = list(fields(file))
        name = next(content.decode() for number, content, _ in parts if number == NAME)
        needs = [content.decode() for number, content, _ in parts if number == DEPENDENCY]
        body = b"".join(raw for number, _, raw in parts if number != COMMENTS)
        files[name] = (needs, body)
    written = set()
    out = bytearray()

    def write(name):
        if name in written:
            return
        written.add(name)
        needs, body = files[name]
        for other in needs:
            write(other)
        out.extend(b"\x0a" + length(len(body)) + body)

    for root in ROOTS:
        write(root)
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../control/admin/src/xds")
    with open(f"{folder}/descriptors.bin", "wb") as file:
        file.write(out)
    version = re.search(r"/envoy-types-([^/]+)/", found[0]).group(1)
    with open(__file__, "rb") as script, open(f"{folder}/descriptors.txt", "w") as file:
        file.write(f"envoy-types {version}\n")
        file.write(f"script {hashlib.sha256(script.read()).hexdigest()}\n")
        file.write(f"result {hashlib.sha256(out).hexdigest()}\n")


main()
