#!/bin/sh
# Makes all certificates anew, in the folder of this script. They are valid from 2020 on, so that no
# machine whose clock is behind refuses them.
set -eu
cd "$(dirname "$0")"
rm -f ./*.crt ./*.key
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

cat > "$work/config" <<END
[ca]
default_ca = this
[this]
dir = $work
database = $work/index
new_certs_dir = $work
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
[any]
commonName = supplied
END
: > "$work/index"

key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1.key"; }

# name, extensions, and how it is signed
sign() {
  name="$1" extensions="$2"
  shift 2
  key "$name"
  printf '%b' "$extensions" > "$work/extensions"
  openssl req -new -key "$name.key" -subj "/CN=Test $name" -out "$work/request"
  openssl ca -batch -notext -config "$work/config" -startdate 20200101000000Z -enddate 21200101000000Z \
    -extfile "$work/extensions" -in "$work/request" -out "$name.crt" "$@"
}

authority() {
  sign "$1" 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n' -selfsign -keyfile "$1.key"
}

# name, authority, use, names
leaf() {
  sign "$1" "subjectAltName=$4\nextendedKeyUsage=$3\nbasicConstraints=CA:FALSE\n" -cert "$2.crt" -keyfile "$2.key"
}

authority ca
authority other-ca
leaf web ca serverAuth DNS:example.com,DNS:*.example.com,DNS:localhost
leaf shop ca serverAuth DNS:shop.example.com,DNS:*.shop.example.com
leaf upstream ca serverAuth DNS:upstream.test,DNS:*.upstream.test
leaf foreign other-ca serverAuth DNS:example.com,DNS:*.example.com,DNS:upstream.test,DNS:*.upstream.test
leaf client ca clientAuth DNS:envoy
leaf foreign-client other-ca clientAuth DNS:envoy
