#!/bin/sh
# deb.sh: builds the Debian package of this checkout, from compiler/debian and the versions in examples/CHANGELOG.md.
#
#     compiler/tools/deb.sh [OUT]     OUT: a folder for lathe_VERSION_ARCH.deb and its source (generated/deb)
#
# Needs dpkg-dev, debhelper and what compiler/debian/control says (apt-get build-dep ./FOLDER).
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-$top/generated/deb}
command -v dpkg-buildpackage >/dev/null || { echo "deb.sh: needs dpkg-buildpackage (apt-get install dpkg-dev debhelper)" >&2; exit 1; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=$(sed -n 's/^#define LATHE_VERSION "\(.*\)"/\1/p' "$top/runtime/interface/version.h")
tree=$out/lathe-$version

rm -rf "$tree"
mkdir "$tree"
(cd "$top" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$tree" 2>/dev/null) || true
cp -r "$tree/compiler/debian" "$tree/debian"
git -C "$top" describe --always --dirty --abbrev=12 '--exclude=*' >"$tree/debian/commit" 2>/dev/null || true
maintainer=$(sed -n 's/^Maintainer: //p' "$tree/debian/control")

# A version of CHANGELOG.md becomes an entry: its points, their lines joined.
awk -v MAINTAINER="$maintainer" '
    function date_of(day, command, s) { command = "LC_ALL=C date -u -R -d " day; command | getline s; close(command); return s }
    function say_point(words, n, i, line) {
        n = split(point, words, " ")
        line = "  *"
        for (i = 1; i <= n; i++) {
            if (length(line) + length(words[i]) > 76) { print line; line = "   " }
            line = line " " words[i]
        }
        if (n) print line
        point = ""
    }
    function end() { say_point(); if (day != "") print "\n -- " MAINTAINER "  " date_of(day) "\n" }
    /^## [0-9]/ { end(); day = substr($3, 2, 10); print "lathe (" $2 ") unstable; urgency=medium\n"; next }
    day == "" { next }
    /^- / { say_point(); point = substr($0, 3); next }
    /^  [^ ]/ { point = point " " $0 }
    END { end() }' "$top/examples/CHANGELOG.md" >"$tree/debian/changelog"

(cd "$tree" && dpkg-buildpackage -us -uc >"$out/build.log" 2>&1) || { tail -n 30 "$out/build.log" >&2; exit 1; }
rm -rf "$tree"
ls "$out"/lathe_"$version"_*.deb
