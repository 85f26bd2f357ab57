#!/usr/bin/env bash
# Builds llama.cpp and candle into the collection and runs their tests. Cold about five minutes on
# two quiet cores; with ccache a clean rebuild of llama.cpp takes seconds.
# Needs Debian's cmake, g++ and libclang-dev for llama.cpp; candle needs nothing.
# Usage: collect/checks/engines.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
export CARGO_TERM_COLOR=never

for tool in cmake c++; do
    command -v "$tool" >/dev/null || { echo "MISSING: $tool, for llama.cpp" >&2; exit 3; }
done
if [[ -z ${LIBCLANG_PATH:-} ]] && ! compgen -G '/usr/lib/llvm*/lib/libclang*.so*' >/dev/null &&
    ! ldconfig -p | grep -q libclang; then
    echo "MISSING: libclang (Debian: libclang-dev), for llama.cpp's bindings" >&2
    exit 3
fi
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
engines=engine-llama-cpp,engine-candle
cargo test --release --locked -p enerinfer-collect --features "$engines"
cargo build --release --locked -p enerinfer-measure --features "$engines"
