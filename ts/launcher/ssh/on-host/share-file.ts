/** The file by which two hosts find out whether they see the same folder. */
import { rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { isThere } from "../../../files/file-presence.ts";
import { makeFolder } from "../../../files/make-folder.ts";
import type { ShareOrder } from "../host-protocol.ts";

/** Network file systems show a new file after a while. */
const LOOK_MS = 5_000;
const POLL_MS = 250;

/** Whether the file is there afterwards. Errors: PRL_IO. */
export async function shareFile({ act, path }: ShareOrder): Promise<boolean> {
  if (act === "write") {
    makeFolder(dirname(path));
    await writeFile(path, "", { flag: "wx" });
  } else if (act === "remove") await rm(path, { force: true });
  else return appears(path);
  return isThere(path);
}

async function appears(path: string): Promise<boolean> {
  const end = performance.now() + LOOK_MS;
  while (!(await isThere(path))) {
    if (performance.now() > end) return false;
    await sleep(POLL_MS);
  }
  return true;
}
