#!/bin/sh
# Makes the certificates and keys of this folder anew. They protect nothing: all of them are public.
set -eu
cd "$(dirname "$0")"
self_signed() { openssl req -x509 -new -key "$1.key" -out "$1.crt" -days 36500 -subj "/CN=$1.example.com"; }

openssl genrsa -out rsa.key 2048 && self_signed rsa
openssl rsa -in rsa.key -traditional -out rsa-pkcs1.key
# With the curve in front of the key, as OpenSSL writes it.
openssl ecparam -name prime256v1 -genkey -out ec.key && self_signed ec
openssl pkcs8 -topk8 -nocrypt -in ec.key -out ec-pkcs8.key
openssl ecparam -name secp384r1 -genkey -noout -out p384.key && self_signed p384
# What the proxy does not take: other curves, short keys, keys behind a password.
openssl ecparam -name secp256k1 -genkey -noout -out k256.key && self_signed k256
openssl genpkey -algorithm ed25519 -out ed25519.key && self_signed ed25519
openssl genrsa -out rsa1024.key 1024 && self_signed rsa1024
openssl pkcs8 -topk8 -in ec.key -passout pass:secret -out encrypted.key
openssl rsa -in rsa.key -traditional -aes128 -passout pass:secret -out encrypted-old.key
chmod 644 *.key *.crt
