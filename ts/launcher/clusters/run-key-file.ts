/**
 * The key of a run whose parts are on several machines, in a file that the user alone can read: of batches and weights on the network, and of the
 * control routes of the inference servers. An earlier key stays, for a run that is started again.
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";

import { atomicWriteFile, createFile } from "../../files/atomic-write.ts";
import { ifThere } from "../../files/file-presence.ts";

const KEY_BYTES = 32;
/** Readable for the user alone. */
const KEY_MODE = 0o600;

/**
 * Writes a new key, as the text that `line` makes of it, unless the file is there; an empty one has none. Two processes at once come to one key: what one of
 * them has read stays. Errors: PRL_IO.
 */
export async function writeRunKey(path: string, line: (key: string) => string = (key) => key): Promise<void> {
  const earlier = await ifThere(readFile(path, "utf8"), path);
  if (earlier !== null && earlier.trim() !== "") return;
  const text = line(randomBytes(KEY_BYTES).toString("hex"));
  if (earlier === null) await createFile(path, text, KEY_MODE);
  else await atomicWriteFile(path, text, KEY_MODE);
}
