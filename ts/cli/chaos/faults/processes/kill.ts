/** Faults that end a process at once, without a chance to clean up. */
import { type Fault, GOES_ON } from "../../fault.ts";
import type { Component } from "../../live-run.ts";

/** SIGKILL for one process of a kind. */
export function killing(component: Component, words: Pick<Fault, "breaks" | "saves" | "obstacle">): Fault {
  return {
    name: `kill-${component}`,
    injection: "SIGKILL for one of them",
    promise: GOES_ON,
    kills: component,
    ...words,
    async inject(run, rng) {
      const victim = await run.signalOne(component, "SIGKILL", rng);
      return victim === null ? null : `SIGKILL for ${victim.name} (pid ${victim.pid})`;
    },
  };
}
