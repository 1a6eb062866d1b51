/** Faults that stop a process for a while, or for ever. */
import { between } from "../../../../random/draws.ts";
import { type Fault, GOES_ON } from "../../fault.ts";
import type { Component, LiveRun } from "../../live-run.ts";
import { signalProcess } from "../../processes.ts";

const SHORTEST_MS = 500;
const LONGEST_MS = 4_000;
/** The launcher kills a process that is silent for 30 s; it may be late on a loaded machine. */
const NOTICED_MS = 120_000;

/** SIGSTOP for one process of a kind, and SIGCONT after some seconds, before the launcher takes it for dead. */
export function pausing(component: Component, words: Pick<Fault, "breaks" | "saves" | "obstacle">): Fault {
  return {
    name: `pause-${component}`,
    injection: `SIGSTOP for one of them, SIGCONT after ${SHORTEST_MS / 1000} to ${LONGEST_MS / 1000} s`,
    promise: GOES_ON,
    ...words,
    async inject(run, rng) {
      const ms = between(rng, SHORTEST_MS, LONGEST_MS);
      const victim = await run.signalOne(component, "SIGSTOP", rng);
      if (victim === null) return null;
      await run.pause(ms);
      signalProcess(victim.pid, "SIGCONT");
      return `SIGSTOP for ${victim.name} (pid ${victim.pid}), ${ms} ms`;
    },
  };
}

/** SIGSTOP for one process of a kind, without an end. */
export function hanging(component: Component, words: Pick<Fault, "breaks" | "saves" | "obstacle">): Fault {
  return {
    name: `hang-${component}`,
    injection: "SIGSTOP for one of them, no SIGCONT",
    promise: GOES_ON,
    ...words,
    async inject(run, rng) {
      const victim = await run.signalOne(component, "SIGSTOP", rng);
      if (victim === null) return null;
      await gone(run, component, victim.pid, NOTICED_MS);
      return `SIGSTOP for ${victim.name} (pid ${victim.pid})`;
    },
  };
}

/** Waits until a process is gone, or the time is over. */
export async function gone(run: LiveRun, component: Component, pid: number, withinMs: number): Promise<void> {
  const isGone = async () => ((await run.processes(component)).some((one) => one.pid === pid) ? null : true);
  await run.until(isGone, withinMs);
}
