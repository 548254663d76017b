#!/usr/bin/env bash
# From an empty folder to own PTX and a reported data race, in five commands, as a stranger runs
# them: outside the workspace, and with nothing set that belongs to this repository.
#
#     .ci/outside_kernels.sh [--work FOLDER]
#
# FOLDER keeps the builds, so that a second run is quick, or one after `.ci/outside --target
# FOLDER/target`; otherwise they are thrown away.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
work=
if [[ ${1:-} == --work && $# == 2 ]]; then
    mkdir -p "$2"
    work=$(cd "$2" && pwd)
elif [[ $# != 0 ]]; then
    echo "usage: $0 [--work FOLDER]" >&2
    exit 2
fi
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
work=${work:-$empty/work}

# A stranger has none of these.
for name in $(compgen -e); do
    case $name in
        TRAZAR_* | CUDA_* | RUSTC* | RUSTFLAGS | CARGO_TARGET_DIR | CARGO_BUILD_* | \
            CARGO_PROFILE_* | RUSTUP_TOOLCHAIN) unset "$name" ;;
    esac
done
# What only a debugger needs is not built. (Faults name source lines without it.)
# `lto` is as in the checkout, so that the program and the new crate share other people's crates.
export CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_LTO=off CARGO_INCREMENTAL=0
# Programs are installed here, and not for the user who runs this.
export CARGO_INSTALL_ROOT=$work/installed PATH=$work/installed/bin:$PATH CARGO_TERM_COLOR=never
mkdir -p "$empty/here"
cd "$empty/here"

fail() {
    printf 'outside_kernels: %s\n' "$*" >&2
    exit 1
}

# The five commands. `--path` stands for crates.io: the crates come from this checkout. `--debug`
# and the target folders only save time.
cargo install --quiet --path "$checkout/cuda/builder" --target-dir "$work/target" --debug --locked
cargo kernels new tally --path "$checkout"
cd tally
CARGO_TARGET_DIR=$work/target cargo kernels build
report=$(CARGO_TARGET_DIR=$work/target cargo run --quiet --example race)

# Own PTX.
grep -q '^\.visible \.entry histogram($' ptx/kernels.ptx || fail "no kernel in ptx/kernels.ptx"
grep -q 'atom\.shared\.add' ptx/kernels.ptx || fail "no update of shared memory in the PTX"

# The planted race: kernel, view, threads and lines, which are those of the source.
printf '%s\n' "$report"
line_of() {
    grep -n "$1" examples/race.rs | cut -d: -f1
}
for part in \
    'kernel `racy_histogram`: data race: element ' \
    "of shared_array!\[u32; 256\] of examples/race.rs:$(line_of 'shared_array!'):" \
    "load by thread [0-9]* of block 0 at examples/race.rs:$(line_of 'bins.ld(t)'):" \
    "atomic update by thread [0-9]* of block 0 at examples/race.rs:$(line_of 'bins.atomic_add'):"; do
    grep -q "$part" <<< "$report" || fail "not in the report: $part"
done

# The template copied by hand, with the commands of cuda_builder's README, is the same.
mkdir "$empty/new" "$empty/copy"
(cd "$empty/new" && cargo kernels new tally > /dev/null)
sed -n '/^cp -r CHECKOUT/,/^```$/p' "$checkout/cuda/builder/README.md" |
    sed "s|CHECKOUT|$checkout|; /^\`/d" > "$empty/copy.sh"
(cd "$empty/copy" && bash -eu "$empty/copy.sh")
diff -r "$empty/new" "$empty/copy"

# What the crate's README says besides. The tests need no device toolchain: they are run where none
# can be found.
export CARGO_TARGET_DIR=$work/target
cargo fmt --check
cargo kernels --check
cargo kernels --doctor
TRAZAR_DEVICE_RUSTC=/nonexistent cargo test --quiet
if TRAZAR_DEVICE_RUSTC=/nonexistent cargo kernels --doctor > "$empty/doctor"; then
    fail "the doctor finds nothing missing where there is no compiler"
fi
grep -q 'there is no /nonexistent' "$empty/doctor" || fail "the doctor does not say what is missing"
cargo run --quiet -- Cargo.toml > "$empty/counts"
grep -q "'\['" "$empty/counts" || fail "the program counts nothing"

# A kernel that can panic is refused at its line.
sed -i 's/counts.atomic_add(t, bins.ld(t));/counts.atomic_add(t, [1, 2][bins.ld(t) as usize]);/' \
    src/lib.rs
refused=$(cargo kernels 2>&1) && fail "a kernel that can panic was not refused"
line=$(grep -n '\[1, 2\]' src/lib.rs | cut -d: -f1)
grep -q "\`histogram\` can panic at src/lib.rs:$line:" <<< "$refused" || fail "no line in: $refused"
echo "five commands: PTX and a reported race"
