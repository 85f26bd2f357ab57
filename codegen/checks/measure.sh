#!/bin/sh
# What a bundle's predictors cost on x86-64, aarch64 and thumbv7em: code and tables per leaf, stack
# of the deepest call, comparisons, instructions per table. Prints one table.
#
# usage: measure.sh [--json FILE] BUNDLE [OPTION OF compile-forest...]
#
# --json FILE also writes the figures to FILE, for `report attach`.
#
# OPT_LEVEL (default z, as in the generated Cargo.toml) is the optimisation level. Needed besides
# what embedded.sh needs: gcc, readelf (binutils), valgrind. What is missing is named, and its
# figure printed as "-", in the file as null.
set -eu

json=
if [ "${1-}" = --json ]; then
    json=${2:?--json takes a file}
    # A rename would replace a device.
    if [ -e "$json" ] && [ ! -f "$json" ]; then
        echo "error: $json is no ordinary file" >&2
        exit 1
    fi
    json=$(cd "$(dirname "$json")" && pwd)/$(basename "$json")
    shift 2
fi
bundle=$(realpath "${1:?usage: measure.sh [--json FILE] BUNDLE [OPTION OF compile-forest...]}")
shift
options=$*
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/cross.sh"
if [ "$(uname -m)" != x86_64 ]; then
    miss "an x86-64 machine" "what compiled code costs"
    exit 3
fi

cargo run --quiet --manifest-path "$here/../Cargo.toml" --bin compile-forest -- \
    "$bundle" --out "$work/enerinfer-runtime" "$@"
cp -r "$here/embedded" "$work/probe"
cd "$work/probe"
export CARGO_TARGET_DIR="$work/target" CARGO_PROFILE_RELEASE_OPT_LEVEL="${OPT_LEVEL:-z}"

# Sum of a field over the predictors, by the manifest.
total() { grep -o "\"$1\": [0-9]*" "$work/enerinfer-runtime/MANIFEST.json" | awk '{ n += $2 } END { print n }'; }
leaves=$(total tree_leaves)

# sizes IMAGE: bytes of code and of constants in the whole image, and of the predictors in it, by
# the sections of their symbols.
sizes() {
    { readelf -SW "$1" | sed 's/^ *\[ *\([0-9]*\)\]/S \1/'; readelf -sW "$1"; } | awk '
        function hex(text,   n, i) {
            for (i = 1; i <= length(text); i++)
                n = 16 * n + index("0123456789abcdef", substr(text, i, 1)) - 1
            return n
        }
        $1 == "S" && $4 == "PROGBITS" {
            kind[$2] = $3 ~ /^\.text/ ? "text" : $3 ~ /^\.(rodata|data\.rel\.ro)/ ? "rodata" : ""
            if (kind[$2] != "") whole[kind[$2]] += hex($7)
        }
        # Functions and statics of the modules `model` and `grid`, in either mangling.
        $4 ~ /^(FUNC|OBJECT)$/ && $8 ~ /enerinfer_runtime(5model|4grid|.*5model)/ {
            part[kind[$7]] += $3 ~ /^0x/ ? hex(substr($3, 3)) : $3
        }
        END { print whole["text"] + 0, whole["rodata"] + 0, part["text"] + 0, part["rodata"] + 0 }'
}

# lines of hexadecimal numbers as decimals, in one line
decimal() { while read -r line; do printf '%d ' "0x$line"; done; }

# host: a program without an operating system, since what std brings is not ours
RUSTFLAGS="--cfg freestanding" cargo rustc --quiet --release --lib --crate-type staticlib \
    --target-dir "$work/freestanding"
cat > "$work/start.c" << 'C'
unsigned long long digest(void);
void *memcpy(void *to, const void *from, unsigned long n) {
    char *t = to; const char *f = from;
    while (n--) *t++ = *f++;
    return to;
}
void *memset(void *to, int value, unsigned long n) {
    char *t = to;
    while (n--) *t++ = (char)value;
    return to;
}
volatile unsigned long long result;
void _start(void) { result = digest(); for (;;) {} }
C
gcc -O1 -ffreestanding -fno-builtin -nostdlib -static -Wl,--gc-sections -o "$work/host" "$work/start.c" \
    "$work/freestanding/release/libprobe.a"
host_sizes=$(sizes "$work/host")
host_rustc=$(rustc --version)
cargo build --quiet --release --bin probe --features measure
host_stack=$("$CARGO_TARGET_DIR/release/probe" | decimal)
host_instructions=-
if command -v valgrind > /dev/null; then
    instructions() {
        valgrind --tool=callgrind --callgrind-out-file=/dev/null \
            "$CARGO_TARGET_DIR/release/probe" "$1" 2>&1 | awk '/Collected/ { print $NF }'
    }
    host_instructions=$(( ($(instructions 2) - $(instructions 1)) / 200 ))
else
    miss valgrind "the number of instructions on x86-64"
fi

arm_sizes="- - - -" arm64_sizes="- - - -" arm_stack="- -" arm64_stack="- -" arm_instructions=- cross_rustc=-
if fetch_compiler; then
    cross_rustc=$(LD_LIBRARY_PATH="$web/$libraries" "$web/usr/bin/rustc" --version)
    target=thumbv7em-none-eabihf
    image="$CARGO_TARGET_DIR/$target/release/probe"
    flags="-C link-arg=-T$work/probe/mps2-an386.ld"
    cross $target "$flags" --bin probe
    arm_sizes=$(sizes "$image")
    cross $target "$flags" --bin probe --features measure
    if command -v qemu-system-arm > /dev/null; then
        # One instruction per nanosecond; the timer ticks 25 million times a second.
        set -- $(timeout 120 qemu-system-arm -machine mps2-an386 -cpu cortex-m4 -nographic -icount shift=0 \
            -semihosting-config enable=on,target=native -kernel "$image" 2>&1 | decimal)
        arm_stack="$1 $2" arm_instructions=$(( $3 * 40 / 200 ))
    else
        miss qemu-system-arm "stack and instructions on $target"
    fi

    target=aarch64-unknown-none
    image="$CARGO_TARGET_DIR/$target/release/probe"
    cross $target "$aarch64_flags" --bin probe
    arm64_sizes=$(sizes "$image")
    cross $target "$aarch64_flags" --bin probe --features measure
    if command -v qemu-aarch64-static > /dev/null; then
        arm64_stack=$(qemu-aarch64-static "$image" | decimal)
    else
        miss qemu-user-static "stack on aarch64"
    fi
fi

per_leaf() { echo "$1 $leaves" | awk '{ if ($1 == "-") print "-"; else printf "%.1f", $1 / $2 }'; }
plus() { echo "$1 $2" | awk '{ if ($1 == "-") print "-"; else print $1 + $2 }'; }
row() { printf '| %-52s | %9s | %9s | %9s |\n' "$@"; }
column() { echo "$1" | cut -d ' ' -f "$2"; }
each() { row "$1" "$(column "$host_sizes" "$2")" "$(column "$arm64_sizes" "$2")" "$(column "$arm_sizes" "$2")"; }
leaf_row() {
    set -- "$1" "$2" "$host_sizes" "$arm64_sizes" "$arm_sizes"
    name=$1 what=$2
    shift 2
    for sizes in "$@"; do
        text=$(column "$sizes" 3)
        [ "$what" = text ] || text=$(plus "$text" "$(column "$sizes" 4)")
        set -- "$@" "$(per_leaf "$text")"
    done
    row "$name" "$4" "$5" "$6"
}

echo
echo "$leaves leaves; opt-level $CARGO_PROFILE_RELEASE_OPT_LEVEL; bytes unless said otherwise."
echo "Worst case in comparisons: $(total lookup) to look up ranks, then $(total in_trees) in the trees"
echo "(computed)."
echo
row "" x86-64 aarch64 thumbv7em
row "---" "---:" "---:" "---:"
each "program with both controllers, \`.text\`" 1
each "program with both controllers, \`.rodata\`" 2
each "predictors in it, \`.text\`" 3
each "predictors in it, \`.rodata\`" 4
leaf_row "predictors, \`.text\` per leaf" text
leaf_row "predictors, \`.text\` and \`.rodata\` per leaf" both
row "stack of a table, deepest of 200" "$(column "$host_stack" 1)" "$(column "$arm64_stack" 1)" "$(column "$arm_stack" 1)"
row "stack from shape to choice, deepest of 200" "$(column "$host_stack" 2)" "$(column "$arm64_stack" 2)" "$(column "$arm_stack" 2)"
row "instructions per table (callgrind; QEMU)" "$host_instructions" - "$arm_instructions"
for measured in "$host_stack" "$arm64_stack" "$arm_stack"; do
    measured=$(column "$measured" 2)
    if [ "$measured" != - ] && [ "$measured" -gt "$(total est_stack_bytes)" ]; then
        echo "error: the crate's README estimates a stack of only $(total est_stack_bytes) bytes" >&2
        exit 1
    fi
done

# A word or text as a JSON string.
quoted() { printf '"%s"' "$(printf %s "$1" | sed 's/["\\]/\\&/g')"; }
or_null() {
    case $1 in
        -) echo null ;;
        *[!0-9]*) quoted "$1" ;;
        *) echo "$1" ;;
    esac
}
# cost ARCHITECTURE RUSTC SIZES STACKS INSTRUCTIONS
cost() {
    architecture=$1 rustc=$(echo "$2" | cut -d ' ' -f 2-4)
    set -- $3 $4 $5
    cat << JSON
    {
      "architecture": "$architecture",
      "rustc": $(or_null "$rustc"),
      "program_text_bytes": $(or_null "$1"),
      "program_rodata_bytes": $(or_null "$2"),
      "predictors_text_bytes": $(or_null "$3"),
      "predictors_rodata_bytes": $(or_null "$4"),
      "table_stack_bytes": $(or_null "$5"),
      "choice_stack_bytes": $(or_null "$6"),
      "table_instructions": $(or_null "$7")
JSON
    printf '    }'
}
if [ -n "$json" ]; then
    new=$(mktemp "$json.XXXXXX")
    trap 'rm -rf "$work" "$new"' EXIT
    cat > "$new" << JSON
{
  "schema_version": 1,
  "model_digest": $(sed -n 's/.*"model_digest": \(.*\),/\1/p' "$work/enerinfer-runtime/MANIFEST.json"),
  "options": $(quoted "$options"),
  "opt_level": $(quoted "$CARGO_PROFILE_RELEASE_OPT_LEVEL"),
  "leaves": $leaves,
  "lookup_comparisons": $(total lookup),
  "tree_comparisons": $(total in_trees),
  "costs": [
$(cost x86-64 "$host_rustc" "$host_sizes" "$host_stack" "$host_instructions"),
$(cost aarch64 "$cross_rustc" "$arm64_sizes" "$arm64_stack" -),
$(cost thumbv7em "$cross_rustc" "$arm_sizes" "$arm_stack" "$arm_instructions")
  ]
}
JSON
    chmod 644 "$new"
    mv "$new" "$json"
fi
[ "$missing" = 0 ] || exit 3
