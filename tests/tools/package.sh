# package.sh: a campaign: the Debian package is clean for lintian; on a bare Debian 12 apt installs it, what its autopkgtest does
# works (a project begun, trained, resumed, asked), and after `apt purge` no file is left that was not there before; then autopkgtest
# itself passes there.
#
# As root, with debootstrap and the network; LATHE_PACKAGES: a folder with a package that is built already; LATHE_DEBS: one
# that keeps what is downloaded.
set -u
[ -n "${LATHE_LONG:-}" ] || { echo "skipped: a campaign of tests/long.sh"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: chroot needs root"; exit 77; }
for tool in debootstrap dpkg-buildpackage dh lintian autopkgtest; do command -v $tool >/dev/null || { echo "skipped: needs $tool"; exit 77; }; done
failed=0
complain() { echo "failed: $*"; failed=1; }
folder=${LATHE_PACKAGES:-$TMP/packages} root=$TMP/root debs=${LATHE_DEBS:-$TMP/debs}
[ -e "$folder" ] || sh compiler/tools/deb.sh "$folder" || exit 1
lintian --fail-on error,warning --display-info "$folder"/lathe_*.changes >"$TMP/said" 2>&1 || complain "lintian: $(cat "$TMP/said")"
sed 's/^/note: lintian: /' "$TMP/said" | head -n 5

finish() { for point in dev sys proc var/cache/apt/archives; do umount -R "$root/$point" 2>/dev/null; done; }
trap finish EXIT
mirror=$({ sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources; echo http://deb.debian.org/debian; } 2>/dev/null | head -n 1)
mkdir -p "$debs"
debootstrap --variant=minbase --cache-dir="$(cd "$debs" && pwd)" bookworm "$root" "$mirror" >"$TMP/log" 2>&1 || { tail "$TMP/log"; exit 1; }
for file in /etc/resolv.conf /etc/hosts; do cp -L $file "$root$file"; done
for point in proc sys dev; do mount --rbind /$point "$root/$point" && mount --make-rslave "$root/$point"; done
mount --bind "$debs" "$root/var/cache/apt/archives"
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME=/root chroot "$root" "$@" >"$TMP/log" 2>&1 </dev/null; }

# What is on the disk, but for apt's and dpkg's own books, which name every package that ever was there.
listed() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \
        -o -path ./var/lib/dpkg -o -path ./run \) -prune -o -print | sort)
}
inside apt-get update || complain "apt-get update: $(tail -n 3 "$TMP/log")"
inside useradd -m someone || complain "no user: $(cat "$TMP/log")"
listed >"$TMP/before"
cp "$folder"/lathe_*.deb "$root/tmp/lathe.deb"
inside apt-get install -y --no-install-recommends /tmp/lathe.deb || complain "apt-get install: $(tail "$TMP/log")"
cp compiler/debian/tests/train "$root/tmp/train"
inside su someone -c 'mkdir /tmp/work && AUTOPKGTEST_TMP=/tmp/work sh /tmp/train' || complain "train: $(tail -n 20 "$TMP/log")"
grep -q 'step 40: saved' "$TMP/log" && grep -q 'lathe 1' "$TMP/log" || complain "no run was resumed: $(tail -n 20 "$TMP/log")"
inside apt-get purge -y --autoremove lathe || complain "apt-get purge: $(tail "$TMP/log")"
listed >"$TMP/after"
diff "$TMP/before" "$TMP/after" >"$TMP/left" || complain "what is left, or gone: $(head -n 20 "$TMP/left")"
find "$root" -xdev -name '*lathe*' ! -path "$root/tmp/*" ! -path "$root/proc/*" | grep . >"$TMP/left" && complain "left: $(head -n 20 "$TMP/left")"

timeout 3000 autopkgtest --no-built-binaries "$folder"/lathe_*.deb "$folder"/lathe_*.dsc -- chroot "$root" >"$TMP/log" 2>&1 </dev/null &&
    grep -q '^train  *PASS' "$TMP/log" || complain "autopkgtest: $(tail -n 30 "$TMP/log")"
exit $failed
