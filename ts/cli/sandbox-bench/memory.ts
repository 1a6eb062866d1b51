/** Measures the memory of a daemon and its sandboxes. */

import { readdir, readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";

import { PrlError } from "../../errors.ts";

/** The value once it does not change any more: waiting interpreters may still be starting. */
export async function settled(measure: () => Promise<number>): Promise<number> {
  let last = await measure();
  for (let attempt = 0; attempt < 20; attempt++) {
    await setTimeout(500);
    const now = await measure();
    if (Math.abs(now - last) < last / 200) return now;
    last = now;
  }
  throw new PrlError("PRL_SANDBOX_BENCH", "the memory of waiting processes does not settle within 10 s");
}

/** Memory of the daemon and everything below it, shared pages divided among the processes that share them. */
export async function proportionalBytes(daemon: number | null): Promise<number> {
  if (daemon === null) throw new PrlError("PRL_SANDBOX_BENCH", "this process did not start the daemon");
  const parents = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, "utf8").catch(() => "") : "";
    const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const below = (pid: number): boolean => pid === daemon || (pid > 1 && below(parents.get(pid) ?? 0));
  let total = 0;
  for (const pid of parents.keys()) {
    if (!below(pid)) continue;
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
    total += Number(/^Pss:\s*(\d+)/m.exec(rollup)?.[1] ?? 0) * 1024;
  }
  return total;
}
