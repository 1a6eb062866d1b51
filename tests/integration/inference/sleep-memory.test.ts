/** An engine that sleeps has given the memory of its KV cache back to the system. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import { loadModel } from "../../../ts/native/index.ts";
import { publishVersion } from "./tiny-model.ts";

const CACHE = 512 * 2 ** 20;

/** Bytes that the system has mapped for this process. */
async function mapped(): Promise<number> {
  const status = await readFile("/proc/self/status", "utf8");
  return Number(/^VmSize:\s+(\d+) kB$/mu.exec(status)?.[1]) * 1024;
}

test.skipIf(process.platform !== "linux")("sleep frees the KV cache, and waking up takes it again", async () => {
  const root = await mkdtemp(join(tmpdir(), "prl-sleep-"));
  const { dir } = await publishVersion(root, 0);
  const model = await loadModel(dir, { threads: 1, kvCacheBytes: CACHE });
  try {
    const awake = await mapped();
    await model.sleep();
    // A thread that allocates for the first time maps 64 MiB, which has nothing to do with the cache.
    expect(awake - (await mapped())).toBeGreaterThan(0.7 * CACHE);
    await model.wakeUp();
    expect(Math.abs((await mapped()) - awake)).toBeLessThan(0.3 * CACHE);
  } finally {
    await model.close();
    await rm(root, { recursive: true, force: true });
  }
});
