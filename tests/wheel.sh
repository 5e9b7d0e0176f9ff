#!/usr/bin/env bash
# A wheel, in a clean venv, in an empty folder, as a user would have it.
#   wheel.sh PYTHON    the python that builds
set -euo pipefail
python=$(realpath -s "$1")
tree=$(realpath "$(dirname "$0")/..")
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
"$python" -m build --wheel --installer uv --outdir "$empty/dist" "$tree" >"$empty/build.log" 2>&1 || { cat "$empty/build.log"; exit 1; }
cd "$empty"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check --require-hashes -r "$tree/requirements.lock"
venv/bin/pip install -q --disable-pip-version-check --no-deps dist/*.whl
venv/bin/discreet --help >help.txt
grep -q 'discreet' help.txt
venv/bin/python - <<'P'
import json, pathlib, subprocess, sys
out = subprocess.run([sys.executable, "-c", "import sys; import bot.cli; print('\\n'.join(sys.modules))"], capture_output=True, text=True, check=True)
heavy = {"aiogram", "nio", "aiohttp", "sqlalchemy", "alembic"} & set(out.stdout.split())
sys.exit(f"the command line loads {heavy} before a command asks for it" if heavy else 0)
P
best=$(for _ in 1 2 3 4 5; do venv/bin/python - <<'P'
import subprocess, sys, time
start = time.perf_counter()
subprocess.run([f"{sys.prefix}/bin/discreet", "--help"], capture_output=True, check=True)
print(int((time.perf_counter() - start) * 1000))
P
done | sort -n | head -1)
echo "discreet --help: $best ms at best of five"
venv/bin/python -c 'import pathlib, policy; print(pathlib.Path(policy.__file__).with_name("example.yaml").read_text(), end="")' >policy.yaml
venv/bin/discreet policy check policy.yaml
echo 'the wheel works in a clean venv in an empty folder'
