#!/bin/sh
# Chromium for the tests in the browser, from Debian's packages.
set -eu
command -v chromium >/dev/null && exit 0
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || {
    echo "no chromium, and no right to install it: the tests in the browser are skipped (apt-get install chromium)" >&2
    exit 1
}
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
