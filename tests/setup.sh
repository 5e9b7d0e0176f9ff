#!/usr/bin/env bash
# Installs what tests need beyond Python: Synapse into a venv of its own, Matrix clients with a Node of their own, and
# Chromium from Debian's packages where this user may.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -x .venv/bin/python ]; then export PYTHON=$PWD/.venv/bin/python; fi
tests/servers/synapse.sh install || echo 'Synapse can not be installed here, so the Matrix tests are skipped.'
tests/interop/setup.sh || echo 'Node can not be installed here, so tests with other Matrix clients are skipped.'
tests/browser/axe/setup.sh || echo 'axe-core can not be installed here, so the tests of who can use our pages are skipped.'
if command -v chromium >/dev/null; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo 'installing chromium for the browser tests'
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
else
  echo 'Chromium is not here, so the browser tests are skipped. To have them: sudo apt-get install chromium'
fi
