/**
 * The survey of one host for `prl fleet check`, which `prl host-part` makes there: the checks of `prl doctor` that matter for a run, and those of hardware
 * that several hosts have. What is not there is said by name. It changes nothing; a file that it writes is removed.
 */
import { hostname } from "node:os";
import { join } from "node:path";

import { cacheDir } from "../../config/index.ts";
import { ok, type Check } from "../doctor/check.ts";
import { machineChecks, nearestExisting, readOrNull, sharedMemoryCheck } from "../doctor/machine.ts";
import { toolchainChecks } from "../doctor/toolchain.ts";
import { allReduceCheck } from "./checks/all-reduce.ts";
import { diskSpeedCheck } from "./checks/disk-speed.ts";
import { fabricChecks, fabricPorts } from "./checks/fabric.ts";
import { findGpus, gpuChecks } from "../doctor/gpus.ts";
import { tierCheck } from "./checks/tier.ts";

/** Rust builds prl, which is there already. */
const LEFT_OUT = new Set(["Rust"]);

export interface SurveyOptions {
  /** Working directory of the host, which need not be there yet. */
  readonly dir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted when the launcher is gone. */
  readonly gone: AbortSignal;
}

export async function surveyHost({ dir, env, gone }: SurveyOptions): Promise<Check[]> {
  const cache = cacheDir(env);
  const [tools, machine, gpus, ports, limits, tier] = await Promise.all([
    toolchainChecks(env),
    machineChecks(dir, cache),
    findGpus(),
    fabricPorts(),
    readOrNull(join("/proc", "self", "limits")),
    tierCheck(),
  ]);
  const count = Array.isArray(gpus) ? gpus.length : 0;
  return [
    ok("Host", hostname()),
    ...tools.filter(({ name }) => !LEFT_OUT.has(name)).map(withAlike),
    ...machine.map((check) => (check.name === "Disk of the current folder" ? { ...check, name: "Disk" } : check)),
    await sharedMemoryCheck(count),
    await diskSpeedCheck(await nearestExisting(dir)),
    ...(await gpuChecks(gpus)),
    // Nothing else of the survey is at work while it is measured.
    await allReduceCheck(count, cache, gone),
    ...fabricChecks(ports, limits),
    tier,
  ];
}

/** Hosts with different instruction sets compute different bits. */
function withAlike(check: Check): Check {
  return check.name === "Instruction sets" || check.name === "Node" ? { ...check, alike: check.detail } : check;
}
