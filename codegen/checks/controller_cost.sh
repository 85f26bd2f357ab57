#!/bin/sh
# Counts the instructions of the controllers' calls on an emulated Cortex-M4, and the code of the
# controllers; fails if a limit is exceeded.
#
# usage: controller_cost.sh
#
# Needed besides the compiler (see cross.sh): qemu-system-arm, binutils-arm-none-eabi.
# Exit code 1: a limit is exceeded; 3: something is missing, which is named, and nothing was proved.
set -eu

token_limit=2000  # instructions
tick_limit=50000  # instructions
code_limit=16384  # bytes

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/cross.sh"
for tool in qemu-system-arm arm-none-eabi-nm; do
    command -v "$tool" > /dev/null || miss "$tool" "the controllers' cost"
done
[ "$missing" = 0 ] && fetch_compiler || exit 3

# The runtime, as the generated crate has it: outside this workspace.
mkdir "$work/enerinfer-runtime"
cp -r "$here/../runtime/src" "$work/enerinfer-runtime/src"
cat > "$work/enerinfer-runtime/Cargo.toml" << 'MANIFEST'
[package]
name = "enerinfer-runtime-core"
version = "0.0.0"
edition = "2021"

[lib]
name = "enerinfer_runtime"

[workspace]
MANIFEST
cp -r "$here/controllers" "$work/probe"
cd "$work/probe"
export CARGO_TARGET_DIR="$work/target"

cross thumbv7em-none-eabihf "-C link-arg=-T$here/embedded/mps2-an386.ld" --bin controllers
firmware="$CARGO_TARGET_DIR/thumbv7em-none-eabihf/release/controllers"
costs=$(qemu-system-arm -machine mps2-an386 -cpu cortex-m4 -icount shift=0 -nographic \
    -semihosting-config enable=on,target=native -kernel "$firmware" 2>&1)
# What is the runtime's, and the 64-bit division that it calls.
code=0
for size in $(arm-none-eabi-nm -S -C "$firmware" |
    awk '$3 ~ /[tT]/ && /enerinfer_runtime|div_rem|aeabi_.*div/ { print $2 }'); do
    code=$((code + 0x$size))
done
printf '%s\ncode %s\n' "$costs" "$code" |
    awk -v token="$token_limit" -v tick="$tick_limit" -v code="$code_limit" '
    /^on_token/ { limit = token; unit = "instructions" }
    /^tick/     { limit = tick;  unit = "instructions" }
    /^code/     { limit = code;  unit = "bytes" }
    {
        over = $2 + 0 == 0 || $2 >= limit
        printf "%-20s %6d of %6d %s%s\n", $1, $2, limit, unit, over ? ": TOO MUCH" : ""
        failed = failed || over
    }
    END { exit failed || NR != 5 }'
