// Which cores a bench and the processes that it starts run on.
import { spawnSync } from "node:child_process";

/** Keeps this process, and those that it starts from now on, on the first two cores; says so where it cannot. */
export function useTwoCores() {
  const pinned = spawnSync("taskset", ["-acp", "0,1", String(process.pid)]).status === 0;
  if (!pinned) console.log("taskset is not there, all cores are used");
}
