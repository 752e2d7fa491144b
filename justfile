# Keyward's recipes. Run them through ./x, which makes sure that the tools are there.
[private]
default:
    @just --list --unsorted
