#!/usr/bin/env bash
# Builds the wheels of a release, on Linux:
#
#     python/wheels.sh [--out FOLDER] [--profile PROFILE] [TARGET...]
#
# Targets are all of the table unless some are named. FOLDER is `dist`, and PROFILE `dist`;
# `release` takes a third of the time, and gives wheels that are somewhat slower.
#
# | target                      | is for                              | linked by            |
# |-----------------------------|-------------------------------------|----------------------|
# | x86_64-unknown-linux-gnu    | glibc 2.17 and later                | Zig                  |
# | free-threaded               | the same, free-threaded Python 3.14 | Zig                  |
# | aarch64-unknown-linux-gnu   | glibc 2.17 and later                | Zig                  |
# | x86_64-pc-windows-gnu       | Windows 10 and later                | MinGW-w64's gcc      |
# | aarch64-apple-darwin        | macOS 11 and later, Apple's chips   | Zig                  |
#
# It needs rustup, Python with venv, and for Windows `apt-get install gcc-mingw-w64-x86-64`. For
# macOS, rustc warns that there is no SDK of Apple's; Zig needs none. A wheel serves CPython 3.10
# and all later ones; free-threaded Python has no stable ABI before 3.15, so its wheel serves one
# version. None of these Pythons need be there.
set -euo pipefail
cd "$(dirname "$0")/.."

out=dist profile=dist targets=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --out) out=$2 && shift 2 ;;
        --profile) profile=$2 && shift 2 ;;
        -*) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" && exit 2 ;;
        *) targets+=("$1") && shift ;;
    esac
done
if [[ ${#targets[@]} -eq 0 ]]; then
    targets=(x86_64-unknown-linux-gnu free-threaded aarch64-unknown-linux-gnu
        x86_64-pc-windows-gnu aarch64-apple-darwin)
fi

# maturin says what a wheel for Linux needs of its system, and refuses one that needs more than its
# name says.
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' 'ziglang<0.18'
export PATH=$tools/bin:$PATH

for target in "${targets[@]}"; do
    options=(--zig)
    case $target in
        free-threaded) target=x86_64-unknown-linux-gnu options+=(--interpreter python3.14t) ;;
    esac
    rustup target add "$target"
    case $target in
        *-linux-gnu) options+=(--compatibility manylinux2014) ;;
        *-windows-gnu) options=() ;;
    esac
    maturin build --locked --profile "$profile" --target "$target" -m python/Cargo.toml \
        --out "$out" "${options[@]}"
done
ls -l "$out"
