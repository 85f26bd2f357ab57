#!/bin/sh
# Runs a generated crate on other targets and compares its predictions with the host's, bit for
# bit: thumbv7em on an emulated Cortex-M4, aarch64, wasm32; compiles riscv32imac. Prints sizes, and
# proves from the disassembly that no floating-point instruction is in it.
#
# usage: embedded.sh BUNDLE
#
# The compiler is that of cross.sh. Needed besides: qemu-system-arm, qemu-user-static,
# binutils-arm-none-eabi, node.
# Exit code 3: something is missing, which is named; nothing was proved for that target.
set -eu

bundle=$(realpath "${1:?usage: embedded.sh BUNDLE}")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
missing=0
miss() { echo "MISSING: $1: $2 is NOT checked" >&2; missing=1; }

cargo run --quiet --manifest-path "$here/../Cargo.toml" --bin compile-forest -- \
    "$bundle" --out "$work/enerinfer-runtime"
cp -r "$here/embedded" "$work/probe"
cd "$work/probe"
export CARGO_TARGET_DIR="$work/target"
expected=$(cargo run --quiet --release --bin probe)
echo "host               $expected"

core_manifest="$work/enerinfer-runtime/Cargo.toml"
. "$here/cross.sh"

same() {
    echo "$1 $2"
    if [ "$2" != "$expected" ]; then
        echo "error: $1 predicts differently from the host ($expected)" >&2
        exit 1
    fi
}

target=thumbv7em-none-eabihf
build $target "-C link-arg=-T$work/probe/mps2-an386.ld" --bin probe
firmware="$CARGO_TARGET_DIR/$target/release/probe"
if command -v qemu-system-arm > /dev/null; then
    # The emulator writes what the firmware prints to stderr.
    same "thumbv7em         " "$(qemu-system-arm -machine mps2-an386 -cpu cortex-m4 -nographic \
        -semihosting-config enable=on,target=native -kernel "$firmware" 2>&1)"
else
    miss qemu-system-arm "running on $target"
fi
if command -v arm-none-eabi-objdump > /dev/null; then
    arm-none-eabi-size "$firmware"
    if arm-none-eabi-objdump -d "$firmware" |
        grep -E '[[:space:]](v[a-z]+\.(f|s|u)[0-9]|vldr|vldm|vstr|vmov|vcvt)|__aeabi_[fd]|__(add|sub|mul|div)[sd]f'; then
        echo "error: floating point in the firmware, see above" >&2
        exit 1
    fi
    echo "$target has no floating-point instruction"
else
    miss binutils-arm-none-eabi "the absence of floating-point instructions"
fi

target=aarch64-unknown-none
build $target "-C linker-flavor=ld.lld -C relocation-model=static -C target-feature=+crt-static -C link-arg=-nostdlib" --bin probe
if command -v qemu-aarch64-static > /dev/null; then
    same "aarch64           " "$(qemu-aarch64-static "$CARGO_TARGET_DIR/$target/release/probe")"
else
    miss qemu-user-static "running on aarch64"
fi

target=wasm32-unknown-unknown
build $target "" --lib --crate-type cdylib
if command -v node > /dev/null; then
    same "wasm32            " "$(node -e '
        const bytes = require("fs").readFileSync(process.argv[1]);
        WebAssembly.instantiate(bytes).then(({ instance }) => {
            const value = BigInt.asUintN(64, instance.exports.digest());
            console.log(value.toString(16).padStart(16, "0"));
        });' "$CARGO_TARGET_DIR/$target/release/probe.wasm")"
else
    miss node "running on wasm32"
fi

build riscv32imac-unknown-none-elf "" --lib
echo "riscv32imac        compiles"

[ "$missing" = 0 ] || exit 3
