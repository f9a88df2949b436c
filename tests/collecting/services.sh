#!/bin/sh
# INN, a news server, for the tests of netnews: from Debian's packages, laid into build/inn and started by no one but
# the tests. Installing the package itself would start a server of this machine's own and ask for a mail server.
set -eu
cd "$(dirname "$0")/../.."
[ -x build/inn/usr/lib/news/bin/innd ] && exit 0
command -v apt-get >/dev/null || { echo "no apt-get here: the tests of netnews need INN (inn2) in build/inn" >&2; exit 1; }
if [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    libraries=$(apt-cache depends inn2 | sed -n 's/^ *Depends: \(lib[a-z0-9.+-]*\)$/\1/p')
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openssl perl $libraries >/dev/null
fi
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
chmod 777 "$packages"
(cd "$packages" && apt-get download -qq inn2 inn2-inews libcanlock3)
for package in "$packages"/*.deb; do dpkg-deb -x "$package" "$packages/inn"; done
mkdir -p build
mv "$packages/inn" build/inn
