#!/usr/bin/env bash
# A real Synapse homeserver on loopback, for tests.
#   install       its own venv in .cache/synapse, from synapse.lock with hashes; does nothing where it stands already
#   serve FOLDER  state in FOLDER (an earlier state is taken up, on the port it had); prints the address when it is
#                 healthy, and runs until stdin ends or a signal comes. So it ends with whoever started it.
# Environment: PYTHON makes the venv. SYNAPSE_RATE_LIMITS=1 keeps Synapse's own rate limits.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
lock=$here/synapse.lock
venv=$here/../../.cache/synapse
python=$venv/bin/python

install() {
  if cmp -s "$lock" "$venv/installed.lock"; then return; fi
  echo 'installing Synapse for the Matrix tests: once, a minute or two' >&2
  rm -rf "$venv"
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$lock" >&2
  cp "$lock" "$venv/installed.lock"
}

configure() {
  local folder=$1 port
  port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  echo "$port" >"$folder/port"
  cat >"$folder/homeserver.yaml" <<YAML
server_name: localhost
public_baseurl: "http://127.0.0.1:$port/"
listeners:
  - {port: $port, bind_addresses: ["127.0.0.1"], type: http, tls: false, resources: [{names: [client], compress: false}]}
database: {name: sqlite3, args: {database: "$folder/homeserver.db"}}
media_store_path: "$folder/media"
signing_key_path: "$folder/signing.key"
log_config: "$folder/log.yaml"
macaroon_secret_key: for-tests
form_secret: for-tests
registration_shared_secret: for-tests
report_stats: false
trusted_key_servers: []
federation_domain_whitelist: []
bcrypt_rounds: 4
presence: {enabled: false}
caches: {sync_response_cache_duration: 0s}
url_preview_enabled: false
YAML
  if [ "${SYNAPSE_RATE_LIMITS:-0}" != 1 ]; then cat >>"$folder/homeserver.yaml" <<'YAML'; fi
rc_message: &none {per_second: 100000, burst_count: 100000}
rc_registration: *none
rc_admin_redaction: *none
rc_room_creation: *none
rc_media_create: *none
rc_key_requests: *none
rc_user_directory: *none
rc_login: {address: *none, account: *none, failed_attempts: *none}
rc_joins: {local: *none, remote: *none}
rc_joins_per_room: *none
rc_invites: {per_room: *none, per_user: *none, per_issuer: *none}
YAML
  cat >"$folder/log.yaml" <<YAML
version: 1
formatters: {plain: {format: '%(asctime)s %(levelname)s %(name)s %(message)s'}}
handlers:
  log: {class: logging.FileHandler, filename: "$folder/synapse.log", formatter: plain}
  access: {class: logging.FileHandler, filename: "$folder/access.log", formatter: plain}
loggers: {synapse.access: {level: INFO, handlers: [access], propagate: false}}
root: {level: WARNING, handlers: [log]}
disable_existing_loggers: false
YAML
  "$venv/bin/generate_signing_key" -o "$folder/signing.key"
}

serve() {
  local folder=$1 healthy
  mkdir -p "$folder"
  folder=$(cd "$folder" && pwd)
  install
  [ -f "$folder/homeserver.yaml" ] || configure "$folder"
  "$python" -m synapse.app.homeserver --config-path "$folder/homeserver.yaml" </dev/null >"$folder/out.log" 2>&1 &
  server=$!
  trap stop EXIT
  trap 'exit 0' TERM INT HUP
  healthy=$("$python" - "$(cat "$folder/port")" "$server" <<'PY'
import os, sys, time, urllib.request
url, pid, since = f"http://127.0.0.1:{sys.argv[1]}", int(sys.argv[2]), time.monotonic()
while time.monotonic() - since < 90:
    try:
        if urllib.request.urlopen(url + "/health", timeout=2).read() == b"OK":
            sys.exit(print(url))
    except OSError:
        os.kill(pid, 0)
        time.sleep(0.05)
sys.exit(1)
PY
  ) || { tail -n 20 "$folder/out.log" "$folder/synapse.log" >&2; exit 1; }
  echo "$healthy"
  while read -r _; do :; done
}

stop() {
  kill -TERM "$server" 2>/dev/null || return 0
  for _ in $(seq 100); do
    kill -0 "$server" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL "$server" 2>/dev/null || true
}

case "${1:-}" in
  install) install ;;
  serve) serve "${2:?the folder of its state}" ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
