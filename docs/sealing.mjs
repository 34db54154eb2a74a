// Seals and opens record values as turngate does (docs/security.md, "Sealed records"). Node 18 or newer, no packages.
//
// `key` is {id, secret}: the name of a file in the folder of keys, and the 32 bytes in it as a Buffer. `topic` is the full
// name, "turngate.requests"; `recordKey` the record's key, "tenant/thread". Values are Buffers.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const PREFIX = Buffer.from([0x00, 0x54, 0x47, 0x01]); // "TG", version 1
const derive = (secret, salt, info, length) => Buffer.from(hkdfSync("sha256", secret, salt, info, length));
const vouched = (head, topic, recordKey) => Buffer.concat([head, Buffer.from(`${topic}\0`), Buffer.from(recordKey)]);

export function seal(key, topic, recordKey, value) {
  const [id, salt, nonce] = [Buffer.from(key.id, "ascii"), randomBytes(16), randomBytes(12)];
  const check = derive(key.secret, "", "turngate key check", 4);
  const head = Buffer.concat([PREFIX, Buffer.from([id.length]), id, check, salt]);
  const cipher = createCipheriv("aes-256-gcm", derive(key.secret, salt, "turngate seal", 32), nonce);
  cipher.setAAD(vouched(head, topic, recordKey));
  return Buffer.concat([head, nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()]);
}

export function isSealed(value) {
  return value.subarray(0, 3).equals(PREFIX.subarray(0, 3));
}

// `keys` is {id: secret}. Throws if the key is not there or another one, and if the record was altered or moved.
export function open(keys, topic, recordKey, value) {
  if (!value.subarray(0, 4).equals(PREFIX)) throw new Error("not sealed, or by a newer turngate");
  const checkAt = 5 + value[4];
  const id = value.toString("ascii", 5, checkAt);
  const [saltAt, nonceAt, bodyAt, tagAt] = [checkAt + 4, checkAt + 20, checkAt + 32, value.length - 16];
  if (tagAt < bodyAt) throw new Error("cut off");
  const secret = Object.hasOwn(keys, id) ? keys[id] : undefined;
  if (!secret || !derive(secret, "", "turngate key check", 4).equals(value.subarray(checkAt, saltAt))) {
    throw new Error(`the key ${id} is not here, or is another one`);
  }
  const own = derive(secret, value.subarray(saltAt, nonceAt), "turngate seal", 32);
  const decipher = createDecipheriv("aes-256-gcm", own, value.subarray(nonceAt, bodyAt), { authTagLength: 16 });
  decipher.setAAD(vouched(value.subarray(0, nonceAt), topic, recordKey));
  decipher.setAuthTag(value.subarray(tagAt));
  return Buffer.concat([decipher.update(value.subarray(bodyAt, tagAt)), decipher.final()]);
}
