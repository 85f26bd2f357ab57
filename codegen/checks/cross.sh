# Sourced by the checks that build for other targets; needs $work, a temporary folder.
#
# The stable toolchain has no other targets. Debian's packages rustc-web and rust-web-src (of one
# version) can build `core` for them; they are unpacked into a cache, not installed.

cache=${ENERINFER_CROSS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/enerinfer-cross}
missing=0
miss() { echo "MISSING: $1: $2 is NOT checked" >&2; missing=1; }

# Where the packages unpacked keep their shared libraries.
libraries="usr/lib/$(uname -m)-linux-gnu"

# Unpacks the compiler, if the cache does not have it. Fails if it cannot be had.
fetch_compiler() {
    web="$cache/rustc-web"
    if [ ! -x "$web/usr/bin/rustc" ]; then
        if ! command -v apt-get > /dev/null || ! command -v dpkg > /dev/null; then
            miss "apt-get and dpkg, to fetch rustc-web" "every other target"
            return 1
        fi
        rm -rf "$web" "$web.new"
        mkdir -p "$web.new/deb"
        std=$(apt-cache depends libstd-rust-web-dev 2> /dev/null |
            grep -o 'libstd-rust-web-[0-9][0-9.]*' | head -n 1)
        llvm=$(apt-cache depends "$std" 2> /dev/null | grep -o 'libllvm[0-9][0-9.]*' | head -n 1)
        if ! (cd "$web.new/deb" &&
            apt-get download rustc-web rust-web-src libstd-rust-web-dev "$std" "$llvm"); then
            miss "rustc-web (apt-get update first?)" "every other target"
            return 1
        fi
        for package in "$web.new"/deb/*.deb; do dpkg -x "$package" "$web.new"; done
        rm -r "$web.new/deb"
        mv "$web.new" "$web"
    fi
    if ! LD_LIBRARY_PATH="$web/$libraries" "$web/usr/bin/rustc" --version; then
        miss "a library of rustc-web" "every other target"
        return 1
    fi
}

# cross TARGET RUSTFLAGS ARGUMENT...: `cargo rustc` with the fetched compiler. `core` is built once
# per target and kept beside the compiler, which alone can read it.
cross() (
    target=$1
    flags=$2
    shift 2
    lld=$(find "$(rustc --print sysroot)" -name rust-lld | head -n 1)
    export LD_LIBRARY_PATH="$web/$libraries" RUSTC="$web/usr/bin/rustc" RUSTC_BOOTSTRAP=1
    sysroot="$web/sysroot"
    lib="$sysroot/lib/rustlib/$target/lib"
    if [ ! -d "$lib" ]; then
        RUSTFLAGS="-C linker=$lld" cargo build --quiet --release -Zbuild-std=core \
            --target "$target" --manifest-path "$work/enerinfer-runtime/Cargo.toml"
        mkdir -p "$lib.new"
        cp "$CARGO_TARGET_DIR/$target/release/deps"/libcore-*.rlib \
            "$CARGO_TARGET_DIR/$target/release/deps"/libcompiler_builtins-*.rlib "$lib.new"
        mv "$lib.new" "$lib"
    fi
    RUSTFLAGS="--sysroot $sysroot -C linker=$lld $flags" \
        cargo rustc --quiet --release --target "$target" "$@"
)

# Flags for a Linux program without a C library.
aarch64_flags="-C linker-flavor=ld.lld -C relocation-model=static -C target-feature=+crt-static -C link-arg=-nostdlib"
