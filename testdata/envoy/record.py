"""Asks an Envoy which header values and regular expressions it takes, and writes them down beside this
file: header-commands.json, regexes.json.

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


CHOSEN_REGEXES = [
    'a',
    '',
    'a|b',
    '|',
    '(|a)*',
    '()',
    'a**',
    'a*+',
    'a*?',
    'a*??',
    'a+?',
    'a??',
    'a???',
    'a{2}{3}',
    'a{2}*',
    'a*{2}',
    'a{2}?{3}',
    'a{1001}',
    'a{1000}',
    'a{0}',
    'a{0,0}',
    'a{,5}',
    'a{5',
    'a{',
    'a{}',
    'a{,}',
    'a{1,}',
    'a{2,1}',
    '{',
    '{2}',
    '{2',
    '{,2}',
    '*',
    '+a',
    '?',
    '|*',
    '(*)',
    '(?i)*',
    'a(?i)*',
    '^*',
    '$+',
    '\\b+',
    '\\bfoo\\b',
    '(a{100}){11}',
    '(a{100}){10}',
    '((a{10}){10}){10}',
    '((a{10}){10}){11}',
    '\\<',
    '\\>',
    '\\_',
    '\\-',
    '\\/',
    '\\ ',
    '\\é',
    '\\Q.\\E',
    '\\Qa',
    '\\E',
    '\\C',
    '\\A',
    '\\z',
    '\\Z',
    '\\G',
    '\\k',
    '\\K',
    '\\R',
    '\\X',
    '\\h',
    '\\e',
    '\\cA',
    '\\1',
    '\\2',
    '(a)\\1',
    '\\8',
    '\\9',
    '\\0',
    '\\00',
    '\\012',
    '\\12',
    '\\18',
    '\\777',
    '\\400',
    '\\x',
    '\\xf',
    '\\xff',
    '\\xfg',
    '\\x{}',
    '\\x{41}',
    '\\x{110000}',
    '\\x{10ffff}',
    '\\x{d800}',
    '\\x{00000041}',
    '\\x{0000000000041}',
    '\\n\\r\\t\\f\\v\\a',
    '(?x)a',
    '(?i)a',
    '(?i:a)',
    '(?-i)a',
    '(?i-s:a)',
    '(?i-)a',
    '(?-)a',
    '(?-:a)',
    '(?--i)a',
    '(?i-s-m)a',
    '(?)',
    '(?:)',
    '(?:a',
    '(?i',
    '(?',
    '(',
    '(a',
    ')',
    'a)',
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '(?<!a)',
    '(?<n>a)',
    '(?P<n>a)',
    '(?P<>a)',
    '(?P<n',
    '(?P<n a>b)',
    '(?P=n)',
    '(?P<1>a)',
    '(?P<n>a)(?P<n>b)',
    '(?>a)',
    '(?#c)',
    "(?'n'a)",
    '(?R)',
    '[',
    '[]',
    '[^]',
    '[]a]',
    '[^]a]',
    '[a',
    '[a-',
    '[a-]',
    '[-a]',
    '[a-b-c]',
    '[--a]',
    '[a--]',
    '[z-a]',
    '[a-\\d]',
    '[\\d-z]',
    '[\\d-]',
    '[a&&b]',
    '[a~~b]',
    '[[a]]',
    '[[:alpha:]]',
    '[[:^alpha:]]',
    '[[:foo:]]',
    '[[:alpha:]',
    '[[:]',
    '[[:a]',
    '[:alpha:]',
    '[[.a.]]',
    '[[=a=]]',
    '[\\]]',
    '[\\b]',
    '[\\-]',
    '[\\n-\\r]',
    '[\\x{41}-\\x{5a}]',
    '[\\Q]',
    '[\\pL]',
    '[\\p{Greek}\\d]',
    '[^\\PL]',
    '\\pN',
    '\\pL',
    '\\PL',
    '\\p{L}',
    '\\p{Lu}',
    '\\p{^Lu}',
    '\\P{^Lu}',
    '\\p{Greek}',
    '\\p{greek}',
    '\\p{Nope}',
    '\\p',
    '\\p{',
    '\\p{L',
    '\\pX',
    '\\p{LC}',
    '\\p{Any}',
    '\\d\\D\\s\\S\\w\\W',
    '\\',
    'a\\',
    'é+',
    '日本',
    '[日-本]',
    '(?i)[à-ü]',
    '[à',
    '\\pL{60}',
    '\\pL{100}',
    '\\pL{500}',
    '(\\pL{50}){20}',
    '.{1000}',
    '(.{30}){33}',
    '(.{100}){10}',
    '(abc){1000}',
    '(((((((((((((((((((((((((((((((((((((((((((((((((())))))))))))))))))))))))))))))))))))))))))))))))))',
    '(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a(a))))))))))))))))))))))))))))))))))))))))))))))))))',
    '/api/v[0-9]+/.*',
    '^/users/(\\d+)(/.*)?$',
    '/(?P<org>[^/]+)/(?P<repo>[^/]+)',
    '[0-9a-f]{8}-[0-9a-f]{4}',
    '(GET|POST)',
    'a{99999999999}',
    'a{1,99999999999}',
    'a\nb',
    '\\\n',
    'a{2}b{3}{',
    'a{2}{x}',
    'a*{x}',
    'a*{',
    'x{2,3}?',
    'x{2,3}??',
    "x" * 4000,
    "(" * 50 + ")" * 50,
    "(" * 150 + ")" * 150,
    "(a" * 50 + ")" * 50,
    "[\\x{100}-\\x{200}]",
    "\\x{100}",
    "\\x{ff}",
    "\\377",
    "\\400",
    "[é]",
    "(é)+",
    "é{2}",
    "(?i)é",
    "[^\\pL\\pN]{20}",
    "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?){1,5}",
    "(?i)/[a-z]+/\\w{3,12}",
    "(a|b|c|d|e)*(f|g)+h?",
    "[acegikmoqsuwy]{10}",
    "(?i)[acegikmoqsuwy]{10}",
    "[^acegikmoqsuwy]{10}",
    "((a?)?)?",
    "((a*)*)*",
    "(a+)+",
    "a{0,100}",
    "(abc|abd|xyz){5,7}",
    "((a{2,5}){2,5}){2,5}",
    "(()|a){3}",
    "(?:(?:)){5}x",
]
REGEX_TOKENS = [
    'a',
    'b',
    '(',
    ')',
    '(?:',
    '(?i)',
    '(?P<n>',
    '(?=',
    '[',
    ']',
    '^',
    '-',
    '[^',
    '[:alpha:]',
    '[[:digit:]]',
    '\\d',
    '\\pL',
    '\\1',
    '\\',
    '{2}',
    '{1,3}',
    '{',
    '}',
    '*',
    '+',
    '?',
    '|',
    '.',
    '$',
    'é',
    ',',
    '0',
    '\\x41',
    '\\b',
    '&&',
    ':',
    '{500}',
]


def config(route):
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


def validate(envoy, route):
    """None when Envoy takes the route, else what it says."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config(route), file)
        file.flush()
        command = [envoy, "--mode", "validate", "-c", file.name, "-l", "critical"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        return None if done.returncode == 0 else done.stderr + done.stdout


def takes_value(envoy, value):
    return validate(
        envoy,
        {
            "match": {"prefix": "/"},
            "direct_response": {"status": 200},
            "request_headers_to_add": [{"header": {"key": "x-a", "value": value}}],
            "response_headers_to_add": [{"header": {"key": "x-a", "value": value}}],
        },
    ) is None


def program_size(envoy, regex):
    """The size that Envoy counts; None when it does not take the expression."""
    match = {"safe_regex": {"google_re2": {"max_program_size": 1}, "regex": regex}}
    answer = validate(envoy, {"match": match, "direct_response": {"status": 200}})
    if answer is None:
        return 1
    found = re.search(r"RE2 program size of (\d+) >", answer)
    size = int(found.group(1)) if found else None
    return None if size == 4294967295 else size


def regexes():
    chance = random.Random(7)
    found = dict.fromkeys(regex for regex in CHOSEN_REGEXES if regex)
    while len(found) < 1500:
        found["".join(chance.choice(REGEX_TOKENS) for _ in range(chance.randint(2, 9)))] = None
    return list(found)


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


def write(name, value):
    (HERE / name).write_text(json.dumps(value, indent=0) + "\n")


def main():
    envoy = sys.argv[1]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = values()
        answers = list(pool.map(lambda value: takes_value(envoy, value), found))
        taken = [value for value, taken in zip(found, answers) if taken]
        refused = [value for value, taken in zip(found, answers) if not taken]
        write("header-commands.json", {"taken": taken, "refused": refused})
        found = regexes()
        sizes = list(pool.map(lambda regex: program_size(envoy, regex), found))
        taken = {regex: size for regex, size in zip(found, sizes) if size is not None}
        refused = [regex for regex, size in zip(found, sizes) if size is None]
        write("regexes.json", {"taken": taken, "refused": refused})


main()
