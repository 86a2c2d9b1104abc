#!/bin/sh
# cleanroot.sh: shows that on a fresh Debian 12 each of the two commands alone is enough.  As root, with debootstrap.
#
#   tests/cleanroot.sh [FOLDER [COMMAND…]]      FOLDER: where the roots go (default: a temporary one, removed at the end)
#                                               COMMAND: instead of both, such as "sh tests/run.sh -k proof"
#
# Makes one minimal root for each command, copies this checkout and the data beside it in, runs the command there by
# chroot, and prints how long it took.  Not part of tests/run.sh.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-}
[ $# -eq 0 ] || shift
[ "$(id -u)" = 0 ] || { echo "cleanroot.sh: chroot needs root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "cleanroot.sh: needs the package debootstrap" >&2; exit 2; }
keep=1
[ -n "$folder" ] || { folder=$(mktemp -d); keep=; }
mkdir -p "$folder"
mounted=

leave() {
    for point in $mounted; do umount -R "$point" || true; done
    mounted=
}
finish() {
    leave
    [ -n "$keep" ] || rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM

# The mirror this machine uses, else Debian's own.
mirror() {
    { sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources
      sed -n 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) bookworm main.*/\2/p' /etc/apt/sources.list
      echo http://deb.debian.org/debian; } 2>/dev/null | head -n 1
}

make_base() {
    [ -e "$folder/base/etc/debian_version" ] ||
        debootstrap --variant=minbase bookworm "$folder/base" "$(mirror)" \
            >"$folder/debootstrap.log" 2>&1 ||
        { tail -n 20 "$folder/debootstrap.log" >&2; exit 1; }
    for file in /etc/resolv.conf /etc/hosts; do cp -L "$file" "$folder/base$file" 2>/dev/null || true; done
}

run_in_root() {         # NAME COMMAND…
    root=$folder/$1
    shift
    rm -rf "$root"
    cp -a "$folder/base" "$root"
    mkdir -p "$root/src/lathe" "$root/src/shared"
    (cd "$top" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$root/src/lathe" 2>/dev/null) || true
    [ ! -d "$top/../shared/data" ] || cp -a "$top/../shared/data" "$root/src/shared/"
    for point in proc sys dev; do
        mount --rbind "/$point" "$root/$point" 2>/dev/null && mount --make-rslave "$root/$point" && mounted="$root/$point $mounted"
    done
    begin=$(date +%s)
    code=0
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CI=true \
        chroot "$root" sh -c 'cd /src/lathe && exec "$@"' sh "$@" </dev/null || code=$?
    echo "== $*: exit $code after $(($(date +%s) - begin)) s on a bare Debian $(cat "$root/etc/debian_version")"
    for point in $mounted; do umount -R "$point" || true; done
    mounted=
    [ -n "$keep" ] || rm -rf "$root"
    return $code
}

make_base
if [ $# -gt 0 ]; then
    run_in_root command "$@"
else
    failed=0
    run_in_root quickstart sh examples/quickstart.sh || failed=1
    run_in_root tests sh tests/run.sh || failed=1
    exit $failed
fi
