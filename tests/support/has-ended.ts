/** Waits for the end of a process that is no child of the test. */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const DEADLINE_MS = 10_000;

/** Resolves when the process is gone, or is one that its parent has not waited for. Rejects after ten seconds. */
export async function hasEnded(pid: number): Promise<void> {
  const end = performance.now() + DEADLINE_MS;
  while (await isLive(pid)) {
    if (performance.now() > end) throw new Error(`process ${pid} is still there`);
    await sleep(20);
  }
}

async function isLive(pid: number): Promise<boolean> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return text !== null && !text.slice(text.lastIndexOf(")") + 2).startsWith("Z");
}
