/** Threads of a process's native core hang, while its main loop goes on. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { addonPath } from "../../../../native/index.ts";
import { type Fault, GOES_ON } from "../../fault.ts";
import type { Component } from "../../live-run.ts";
import { gone } from "../processes/stand-still.ts";

const COMPONENTS: readonly Component[] = ["trainer", "inference", "orchestrator"];
/** All threads of the addon for blocking calls: whatever else it is asked waits behind them. */
const THREADS = 8;
/** The launcher waits ten times as long as for a silent main loop. */
const NOTICED_MS = 600_000;

export const fault: Fault = {
  name: "hang-native",
  breaks: "all native work of one process, behind a disk that does not answer; its main loop and its heartbeats go on",
  saves: "heartbeats say which native work has not got on: after 300 s it counts as hanging, is killed and replaced",
  injection:
    "an order to the module that `NODE_OPTIONS` imports: all threads for blocking calls open a named pipe that has no writer",
  promise: GOES_ON,
  needs: { hook: true },
  obstacle: () =>
    spawnSync("mkfifo", ["--version"], { stdio: "ignore" }).status === 0 ? null : "mkfifo is not installed",
  async inject(run, rng) {
    const component = rng.pick(COMPONENTS);
    const victim = await run.pick(component, rng);
    if (victim === null || run.inside === null) return null;
    const pipe = join(run.runDir, "run", `hangs-${victim.pid}`);
    if (spawnSync("mkfifo", [pipe]).status !== 0) return null;
    if (!(await run.inside.give(victim.pid, { what: "native hangs", addon: addonPath(), pipe, threads: THREADS })))
      return null;
    await gone(run, component, victim.pid, NOTICED_MS);
    return `${victim.name} (pid ${victim.pid}): ${THREADS} threads wait for ${pipe}`;
  },
};
