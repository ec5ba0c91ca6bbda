#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Run as root inside a fresh tree of Debian, beside the packages: installs them, runs what is in
# them, removes them, and looks for what they left.
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
cd "$(dirname "$0")"

say() { echo "in the tree: $*"; }
fail() {
  say "NOT $*"
  exit 1
}
files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run \
    -o -path /root -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg \
    -o -path /var/log \) -prune -o -print | grep -i -e portcullis -e leased || true
}

packages=$(for deb in ./*.deb; do dpkg-deb --field "$deb" Package; done)
apt-get -q -y install --no-install-recommends ./*.deb
say "installed: $(echo $packages)"

count=0
for program in $(dpkg -L $packages | sed -n 's#^/usr/bin/##p'); do
  "$program" --help >help.txt || fail "$program --help"
  grep -qi "^usage: $program" help.txt || fail "$program --help: no usage"
  "$program" --version | grep -q "^$program (portcullis .*, commit [0-9a-f]\{10\}" ||
    fail "$program --version: $("$program" --version)"
  [ -s "/usr/share/man/man1/$program.1.gz" ] || fail "a manual page of $program"
  [ -s "/usr/share/bash-completion/completions/$program" ] || fail "a completion of $program"
  [ -s "/usr/share/zsh/vendor-completions/_$program" ] || fail "a zsh completion of $program"
  [ "$program" = portcullis ] || portcullis --help | grep -q "^  $program " ||
    fail "$program in portcullis --help"
  count=$((count + 1))
done
[ "$count" -ge 15 ] || fail "as many programs as there should be: $count"
say "$count programs run: --help, --version, manual page, completions"

site=/usr/share/doc/portcullis/html
for page in index.html docs/tutorial.html docs/programs/leased.html api/index.html; do
  [ -s "$site/$page" ] || fail "$page of the site"
done
say "the site has $(find "$site" -name '*.html' | wc -l) pages"

leased --config /etc/portcullis/leased.toml --check-config || fail "its configuration"
getent passwd portcullis >/dev/null || fail "the user"
systemd-analyze verify /usr/lib/systemd/system/leased.service || fail "the unit"
[ ! -e /etc/systemd/system/multi-user.target.wants/leased.service ] || fail "left to its admin"
mkdir -p /run/portcullis
leased --config /etc/portcullis/leased.toml --journal none >leased.txt 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT  # a tree with a process in it does not end
for _ in $(seq 300); do
  [ ! -S /run/portcullis/leased.sock ] || break
  sleep 0.1
done
python3 - <<'END' || fail "a lease by python3-portcullis-client"
import portcullis_client
with portcullis_client.Client("/run/portcullis/leased.sock") as client:
    lease = client.alloc(gid="fe80::99", mac="02:00:00:00:00:09", qpn=0x11)
    assert client.release(lease).outcome == portcullis_client.TORN_DOWN
END
portcullis leasectl status >status.txt || fail "leasectl status"
kill -TERM "$server"
wait "$server" || fail "leased: status $?, $(cat leased.txt)"
say "leased grants a lease to Python and ends"

for library in libportcullis libportcullis-client; do
  [ -f "$(readlink -e "/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null ||
    echo x86_64-linux-gnu)/$library.so")" ] || fail "$library.so leads to the library"
done

apt-get -q -y purge $packages
rm -rf /run/portcullis
left=$(files)
[ -z "$left" ] || fail "gone: $left"
say "removed, nothing left"
