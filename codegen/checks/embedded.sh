#!/bin/sh
# Runs a generated crate on other targets, from shapes to an hour under both controllers, and
# compares what it predicts and decides with the host, bit for bit: thumbv7em and thumbv6m on an
# emulated Cortex-M4, aarch64, wasm32; compiles riscv32imac. Prints sizes, and proves from the
# disassembly that no floating point is in the firmware.
#
# usage: embedded.sh BUNDLE
#
# Needed besides the compiler (see cross.sh): qemu-system-arm, qemu-user-static,
# binutils-arm-none-eabi, node.
# Exit code 3: something is missing, which is named; nothing was proved for that target.
set -eu

bundle=$(realpath "${1:?usage: embedded.sh BUNDLE}")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/cross.sh"

cargo run --quiet --manifest-path "$here/../Cargo.toml" --bin compile-forest -- \
    "$bundle" --out "$work/enerinfer-runtime"
cp -r "$here/embedded" "$work/probe"
cd "$work/probe"
export CARGO_TARGET_DIR="$work/target"
expected=$(cargo run --quiet --release --bin probe)
echo "host               $expected"
fetch_compiler || exit 3
checked=host

same() {
    echo "$1 $2"
    if [ "$2" != "$expected" ]; then
        echo "error: $1 predicts or decides differently from the host ($expected)" >&2
        exit 1
    fi
    checked="$checked ${1%% *}"
}

# Lines of a disassembly that compute with floating-point numbers, in hardware or by a helper.
float_lines() {
    arm-none-eabi-objdump -dr "$1" |
        grep -E '[[:space:]](v[a-z]+\.(f|s|u)[0-9]|vldr|vldm|vstr|vmov|vcvt)|__aeabi_(u?[il]2)?[fd]|__(add|sub|mul|div)[sd]f'
}

# A crate that does compute with them: would the search see it?
mkdir "$work/float"
cat > "$work/float/Cargo.toml" << 'TOML'
[package]
name = "float"
version = "0.0.0"
edition = "2021"
[lib]
path = "lib.rs"
[workspace]
TOML
cat > "$work/float/lib.rs" << 'RUST'
#![no_std]
#[no_mangle]
pub extern "C" fn three_halves(x: u32) -> u32 { (x as f32 * 1.5) as u32 }
RUST

# A core with a floating-point unit, and the smallest core, which calls helpers. The emulated
# Cortex-M4 runs the code of both.
for target in thumbv7em-none-eabihf thumbv6m-none-eabi; do
    cross $target "-C link-arg=-T$work/probe/mps2-an386.ld" --bin probe
    firmware="$CARGO_TARGET_DIR/$target/release/probe"
    name=${target%%-*}
    if command -v qemu-system-arm > /dev/null; then
        # The emulator writes what the firmware prints to stderr.
        same "$(printf %-18s "$name")" "$(timeout 300 qemu-system-arm -machine mps2-an386 \
            -cpu cortex-m4 -nographic -semihosting-config enable=on,target=native \
            -kernel "$firmware" 2>&1)"
    else
        miss qemu-system-arm "running on $name"
    fi
    if command -v arm-none-eabi-objdump > /dev/null; then
        arm-none-eabi-size "$firmware"
        if float_lines "$firmware"; then
            echo "error: floating point in the firmware for $name, see above" >&2
            exit 1
        fi
        cross $target --emit=obj --manifest-path "$work/float/Cargo.toml"
        if ! float_lines "$CARGO_TARGET_DIR/$target/release/deps"/float-*.o > /dev/null; then
            echo "error: the search for floating point does not see it on $name" >&2
            exit 1
        fi
        echo "$name has no floating-point instruction and calls no helper of one"
        checked="$checked $name-without-float"
    else
        miss binutils-arm-none-eabi "the absence of floating point on $name"
    fi
done

target=aarch64-unknown-none
cross $target "$aarch64_flags" --bin probe
if command -v qemu-aarch64-static > /dev/null; then
    same "aarch64           " "$(qemu-aarch64-static "$CARGO_TARGET_DIR/$target/release/probe")"
else
    miss qemu-user-static "running on aarch64"
fi

target=wasm32-unknown-unknown
cross $target "" --lib --crate-type cdylib
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

cross riscv32imac-unknown-none-elf "" --lib
echo "riscv32imac        compiles"
checked="$checked riscv32imac-compiles"

echo "checked: $checked"
[ "$missing" = 0 ] || exit 3
