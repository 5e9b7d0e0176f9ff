// A person at a Matrix client that is not ours: matrix-js-sdk with Rust crypto, as Element uses it.
//
// Commands come as JSON lines {"id": 1, "do": "login", ...}; each is answered by {"id": 1, "ok": ...} or
// {"id": 1, "error": "..."}. What the server tells comes as {"event": {...}}, once more when it could be decrypted later.
import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";

for (const level of ["log", "info", "warn", "debug", "trace"]) console[level] = console.error; // stdout is for answers
const sdk = await import("matrix-js-sdk");
const api = await import("matrix-js-sdk/lib/crypto-api/index.js");

const quiet = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, getChild: () => quiet };
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
let client;
let password;

async function seen(event, room) {
  const told = {
    id: event.getId(),
    room: room.roomId,
    sender: event.getSender(),
    type: event.getType(),
    content: event.getContent(),
    relation: event.getWireContent()["m.relates_to"] ?? null, // stands outside the encrypted part
    encrypted: event.isEncrypted(),
    failure: event.isDecryptionFailure() ? event.decryptionFailureReason : null,
    shield: null,
    shield_reason: null,
  };
  if (event.isEncrypted() && !event.isDecryptionFailure()) {
    const info = await client.getCrypto().getEncryptionInfoForEvent(event);
    told.shield = info && api.EventShieldColour[info.shieldColour];
    told.shield_reason = info?.shieldReason == null ? null : api.EventShieldReason[info.shieldReason];
  }
  say({ event: told });
}

// Attachments, after the spec's EncryptedFile (AES-CTR with a 64-bit counter, SHA-256 of what was uploaded).
const unpadded = (bytes) => Buffer.from(bytes).toString("base64").replace(/=+$/, "");
const digest = async (bytes) => unpadded(await webcrypto.subtle.digest("SHA-256", bytes));

async function seal(clear) {
  const counter = new Uint8Array(16);
  webcrypto.getRandomValues(counter.subarray(0, 8));
  const key = await webcrypto.subtle.generateKey({ name: "AES-CTR", length: 256 }, true, ["encrypt", "decrypt"]);
  const bytes = Buffer.from(await webcrypto.subtle.encrypt({ name: "AES-CTR", counter, length: 64 }, key, clear));
  const jwk = await webcrypto.subtle.exportKey("jwk", key);
  return { bytes, file: { v: "v2", key: jwk, iv: unpadded(counter), hashes: { sha256: await digest(bytes) } } };
}

async function unseal(bytes, file) {
  if ((await digest(bytes)) !== file.hashes.sha256) throw new Error("the file is not what was announced");
  const key = await webcrypto.subtle.importKey("jwk", file.key, { name: "AES-CTR" }, false, ["decrypt"]);
  const counter = Buffer.from(file.iv, "base64");
  return Buffer.from(await webcrypto.subtle.decrypt({ name: "AES-CTR", counter, length: 64 }, key, bytes));
}

const commands = {
  // Log in with a device of its own and follow the server; ``signed_only``: as the spec's "exclude insecure devices".
  async login({ homeserver, user, password: secret, signed_only }) {
    password = secret;
    const knock = sdk.createClient({ baseUrl: homeserver, logger: quiet });
    const entered = await knock.loginRequest({
      type: "m.login.password",
      identifier: { type: "m.id.user", user },
      password,
      initial_device_display_name: "interop",
    });
    client = sdk.createClient({
      baseUrl: homeserver,
      userId: entered.user_id,
      deviceId: entered.device_id,
      accessToken: entered.access_token,
      logger: quiet,
    });
    await client.initRustCrypto({ useIndexedDB: false });
    client.getCrypto().setDeviceIsolationMode(
      signed_only ? new api.OnlySignedDevicesIsolationMode() : new api.AllDevicesIsolationMode(false),
    );
    client.on(sdk.RoomEvent.Timeline, (event, room, toStart) => {
      if (toStart || !room || event.status !== null) return; // a status is that of an own message on its way
      event.on(sdk.MatrixEventEvent.Decrypted, () => seen(event, room));
      if (!event.isBeingDecrypted() && event.getType() !== "m.room.encrypted") seen(event, room);
    });
    const synced = new Promise((resolve) => {
      const listen = (state) => {
        if (state !== "PREPARED") return;
        client.off(sdk.ClientEvent.Sync, listen);
        resolve();
      };
      client.on(sdk.ClientEvent.Sync, listen);
    });
    await client.startClient({ initialSyncLimit: 20, lazyLoadMembers: false, threadSupport: false });
    await synced;
    return { user_id: entered.user_id, device_id: entered.device_id };
  },

  // Cross-sign the own device, with keys made now.
  async cross_sign() {
    await client.getCrypto().bootstrapCrossSigning({
      setupNewCrossSigning: true,
      authUploadDeviceSigningKeys: (request) =>
        request({ type: "m.login.password", identifier: { type: "m.id.user", user: client.getUserId() }, password }),
    });
    return { ready: await client.getCrypto().isCrossSigningReady() };
  },

  async create_room({ name, invite, encrypted, direct }) {
    const state = encrypted
      ? [{ type: "m.room.encryption", state_key: "", content: { algorithm: "m.megolm.v1.aes-sha2" } }]
      : [];
    const made = await client.createRoom({ name, invite, is_direct: direct, preset: "private_chat", initial_state: state });
    return made.room_id;
  },

  async join({ room }) {
    await client.joinRoom(room);
    return null;
  },

  async send({ room, type, content }) {
    const sent = await client.sendEvent(room, type, content);
    return sent.event_id;
  },

  // Put a file into a room, encrypted by this program where the room is.
  async attach({ room, name, media_type, content, more }) {
    const clear = Buffer.from(content, "base64");
    const sealed = (await client.getCrypto().isEncryptionEnabledInRoom(room)) ? await seal(clear) : null;
    const uploaded = await client.uploadContent(sealed?.bytes ?? clear, {
      type: sealed ? "application/octet-stream" : media_type,
      includeFilename: false,
    });
    const where = sealed ? { file: { ...sealed.file, url: uploaded.content_uri } } : { url: uploaded.content_uri };
    const info = { mimetype: media_type, size: clear.length };
    const sent = await client.sendEvent(room, "m.room.message", {
      msgtype: "m.file", body: name, filename: name, info, ...where, ...more,
    });
    return sent.event_id;
  },

  // The bytes of a file that somebody put into a room.
  async fetch_file({ room, event }) {
    const content = client.getRoom(room).findEventById(event).getContent();
    const url = client.mxcUrlToHttp(content.file?.url ?? content.url, undefined, undefined, undefined, false, true, true);
    const answer = await fetch(url, { headers: { Authorization: `Bearer ${client.getAccessToken()}` } });
    if (!answer.ok) throw new Error(`download: ${answer.status}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    return (content.file ? await unseal(bytes, content.file) : bytes).toString("base64");
  },

  // Devices of a user: whether each is signed by its owner's cross-signing identity.
  async devices({ user }) {
    const known = (await client.getCrypto().getUserDeviceInfo([user], true)).get(user) ?? new Map();
    const told = {};
    for (const device of known.keys()) {
      const status = await client.getCrypto().getDeviceVerificationStatus(user, device);
      told[device] = status?.signedByOwner ?? false;
    }
    return told;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, do: name, ...options } = JSON.parse(line);
  commands[name](options).then(
    (ok) => say({ id, ok: ok ?? null }),
    (error) => say({ id, error: String(error) }),
  );
}
process.exit(0);
