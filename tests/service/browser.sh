#!/bin/sh
# Sees to a browser for the tests of the page: one that is there, else Debian's Chromium where it can be
# installed. Without any those tests are skipped; where CI=true a missing browser is an error.
command -v chromium >/dev/null && exit 0
test -x "${FOLDWALK_CHROMIUM:-}" && exit 0
test "${FOLDWALK_NO_BROWSER:-}" = 1 && exit 0

may_install() { command -v apt-get >/dev/null && { test "$(id -u)" = 0 || test "${CI:-}" = true; }; }
as_root() { if test "$(id -u)" = 0; then "$@"; else sudo -n "$@"; fi; }
install() {
  as_root apt-get update -qq &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
}

may_install && install && exit 0
echo "There is no browser: install chromium, or name one in FOLDWALK_CHROMIUM." >&2
test "${CI:-}" != true || exit 1
echo "The tests of the page will be skipped." >&2
