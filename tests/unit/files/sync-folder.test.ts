import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import { syncFolder } from "../../../ts/files/atomic-write.ts";

test("the files of a folder are synced, and a folder that is gone is PRL_IO with its name", async () => {
  const folder = await mkdtemp(join(tmpdir(), "prl-sync-"));
  await writeFile(join(folder, "file"), "text");
  await syncFolder(folder);
  await rm(folder, { recursive: true });
  const message = expect.stringContaining(folder) as string;
  await expect(syncFolder(folder)).rejects.toMatchObject({ code: "PRL_IO", message });
});
