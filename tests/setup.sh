# setup.sh: what tests/run.sh and examples/quickstart.sh share: missing Debian packages, then the build.  Sourced from the
# top folder by POSIX sh.

tell() { echo "$*" >&2; }

has_package() {
    dpkg-query -W -f='${Status}\n' "$1" 2>/dev/null | grep -q '^install ok installed'
}

# need COMMAND PACKAGE: the package is wanted unless the command is there, from wherever it came.
need() {
    command -v "$1" >/dev/null 2>&1 || wanted="$wanted $2"
}

# need_library PACKAGE…
need_library() {
    for package in "$@"; do
        has_package "$package" || wanted="$wanted $package"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        tell "These Debian packages are missing, and there is no sudo here.  As root, run:"
        tell "    apt-get install --no-install-recommends$wanted"
        exit 1
    fi
}

# install_wanted: installs what need and need_library found missing, and nothing else.
install_wanted() {
    [ -n "$wanted" ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        tell "Missing, and this is not Debian (no apt-get).  Please install what corresponds to:$wanted"
        exit 1
    fi
    tell "Installing Debian packages:$wanted"
    log=$(mktemp)
    if ! { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
           as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $wanted; } \
           >"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        tell "Could not install:$wanted"
        exit 1
    fi
    rm -f "$log"
    wanted=
}

# What Lathe itself is built with.  OpenBLAS by the name of its OpenMP build: the pthread build is several times slower
# under programs that use OpenMP.
wanted=
need_compiler_packages() {
    need gcc gcc
    need cmake cmake
    command -v ninja >/dev/null 2>&1 || need make make
    need pkg-config pkg-config
    need_library libc6-dev liblua5.4-dev libopenblas-openmp-dev libjansson-dev zlib1g-dev libzstd-dev libjpeg-dev libpng-dev libsndfile1-dev libpcre2-dev libutf8proc-dev libmicrohttpd-dev
}

# What lathe loads when a description calls nn.cfunc, and does without otherwise: 34 MB to fetch, 170 MB on the disk.
need_cfunc_packages() {
    need_library libclang1-19
}

# What draws the charts of reports; a run does without otherwise.
need_report_packages() {
    need_library libjs-dygraphs
}

# What a trainer loads when it reads HDF5 files, and does without otherwise.
need_hdf5_packages() {
    need_library libhdf5-103-1
}

# build_lathe [TARGET…]: configures once, builds into $BUILD (build), with $BUILD_OPTIONS for cmake.
build_lathe() {
    folder=${BUILD:-build}
    generator=
    if [ ! -e "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null 2>&1; then
        generator='-G Ninja'
    fi
    log=$(mktemp)
    tell "Building into $folder/"
    # shellcheck disable=SC2086
    if ! { cmake -S . -B "$folder" $generator -DCMAKE_BUILD_TYPE=RelWithDebInfo ${BUILD_OPTIONS:-} &&
           cmake --build "$folder" --parallel "$(nproc)" ${1:+--target "$@"}; } >"$log" 2>&1; then
        sed '/^\[.*\] \(Building\|Linking\)/d' "$log" >&2
        tell "The build failed."
        exit 1
    fi
    rm -f "$log"
}
