/** A process gets no more memory. */
import { type Fault, GOES_ON } from "../../fault.ts";
import type { Component } from "../../live-run.ts";
import { dataBytes, HAS_PRLIMIT, setSoftLimit } from "./limits.ts";

const COMPONENTS: readonly Component[] = ["orchestrator", "trainer", "inference", "env-worker"];
const MORE_BYTES = 1024 * 1024;
const FOR_MS = 3_000;

export const fault: Fault = {
  name: "no-memory",
  breaks:
    "allocations of one process: the kernel gives no more memory, and the process ends by a signal (SIGABRT, SIGTRAP)",
  saves:
    "a process that a signal ended was not at fault: it is started again, from its snapshot or checkpoint where it held the state",
  injection: `the limit of its data becomes its present size and 1 MiB, for ${FOR_MS / 1000} s (prlimit)`,
  promise: GOES_ON,
  obstacle: () => (HAS_PRLIMIT() ? null : "prlimit is not installed"),
  async inject(run, rng) {
    const victim = await run.pick(rng.pick(COMPONENTS), rng);
    const bytes = victim === null ? null : await dataBytes(victim.pid);
    if (victim === null || bytes === null || !setSoftLimit(victim.pid, "data", bytes + MORE_BYTES)) return null;
    await run.pause(FOR_MS);
    setSoftLimit(victim.pid, "data", "unlimited");
    return `${victim.name} (pid ${victim.pid}): limit at ${Math.round(bytes / 1024 / 1024) + 1} MiB`;
  },
};
