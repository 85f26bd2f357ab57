# Sourced by the checks beside it: a compiler for other targets, and builds with it.
#
# The stable toolchain has no other targets. Debian's packages rustc-web and rust-web-src (of one
# version) can build `core` for them; they are unpacked into a cache, not installed.
#
# Expects `miss WHAT WHY` and `$core_manifest`, the manifest of a crate without dependencies with
# which `core` is built once per target. Exits with 3 if the compiler cannot be fetched.
cache=${ENERINFER_CROSS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/enerinfer-cross}
web="$cache/rustc-web"
if [ ! -x "$web/usr/bin/rustc" ]; then
    if ! command -v apt-get > /dev/null || ! command -v dpkg > /dev/null; then
        miss "apt-get and dpkg, to fetch rustc-web" "every other target"
        exit 3
    fi
    mkdir -p "$cache/deb"
    std=$(apt-cache depends libstd-rust-web-dev | grep -o 'libstd-rust-web-[0-9.]*' | head -n 1)
    llvm=$(apt-cache depends "$std" | grep -o 'libllvm[0-9.]*' | head -n 1)
    if ! (cd "$cache/deb" &&
        apt-get download rustc-web rust-web-src libstd-rust-web-dev "$std" "$llvm"); then
        miss "rustc-web (apt-get update first?)" "every other target"
        exit 3
    fi
    for package in "$cache"/deb/*.deb; do dpkg -x "$package" "$web"; done
fi
LD_LIBRARY_PATH="$web/usr/lib/$(uname -m)-linux-gnu"
export LD_LIBRARY_PATH RUSTC="$web/usr/bin/rustc" RUSTC_BOOTSTRAP=1
lld=$(find "$(rustup run stable rustc --print sysroot)" -name rust-lld | head -n 1)

# build TARGET RUSTFLAGS ARGUMENT...; `core` is built once per target and kept in the cache.
build() {
    target=$1
    flags=$2
    shift 2
    sysroot="$cache/sysroot"
    lib="$sysroot/lib/rustlib/$target/lib"
    if [ ! -d "$lib" ]; then
        RUSTFLAGS="-C linker=$lld" cargo build --quiet --release -Zbuild-std=core \
            --target "$target" --manifest-path "$core_manifest"
        mkdir -p "$lib"
        cp "$CARGO_TARGET_DIR/$target/release/deps"/libcore-*.rlib \
            "$CARGO_TARGET_DIR/$target/release/deps"/libcompiler_builtins-*.rlib "$lib"
    fi
    RUSTFLAGS="--sysroot $sysroot -C linker=$lld $flags" \
        cargo rustc --quiet --release --target "$target" "$@"
}
