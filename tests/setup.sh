#!/usr/bin/env bash
# Installs what tests need beyond Python: Chromium, from Debian's packages, where this user may.
set -euo pipefail
if command -v chromium >/dev/null; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo 'installing chromium for the browser tests'
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
else
  echo 'Chromium is not here, so the browser tests are skipped. To have them: sudo apt-get install chromium'
fi
