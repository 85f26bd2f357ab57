#!/bin/sh
# Builds and tests a generated crate, and builds its C API, with the oldest Rust that their
# manifests promise (Debian bookworm's).
#
# usage: msrv.sh BUNDLE
#
# Needs that version from rustup, or as rustc and cargo in /usr/bin.
# Exit code 3: neither is there; nothing was proved.
set -eu

bundle=$(realpath "${1:?usage: msrv.sh BUNDLE}")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo run --quiet --manifest-path "$here/../Cargo.toml" --bin compile-forest -- \
    "$bundle" --out "$work/enerinfer-runtime" --capi "$work/enerinfer-runtime-capi"
version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$work/enerinfer-runtime/Cargo.toml")
if command -v rustup > /dev/null && rustup run "$version.0" rustc --version 2> /dev/null; then
    old_cargo="rustup run $version.0 cargo"
elif /usr/bin/rustc --version 2> /dev/null | grep -F "rustc $version."; then
    old_cargo=/usr/bin/cargo
    export RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc
else
    echo "MISSING: Rust $version (rustup toolchain install $version.0): the generated crate's rust-version is NOT checked" >&2
    exit 3
fi
export RUSTFLAGS=-Dwarnings CARGO_TARGET_DIR="$work/target"
cd "$work/enerinfer-runtime"
$old_cargo test --quiet --offline
cd "$work/enerinfer-runtime-capi"
$old_cargo build --quiet --offline --release
echo "the generated crates build with Rust $version"
