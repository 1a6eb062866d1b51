/** InfiniBand and RoCE ports, and the limit of locked memory that they need. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { type Check, ok, problem, warning } from "../../doctor/check.ts";
import { lockedMemoryCheck, readOrNull } from "../../doctor/machine.ts";

const NAME = "InfiniBand";
const FOLDER = "/sys/class/infiniband";
/** `4: ACTIVE` in the file of a port. */
const ACTIVE = /^4\b/u;

export interface FabricPort {
  /** `mlx5_0/1`. */
  readonly name: string;
  readonly state: string;
  readonly rate: string;
}

/** The ports that the kernel knows; none where there is no device. */
export async function fabricPorts(folder: string = FOLDER): Promise<FabricPort[]> {
  const ports: FabricPort[] = [];
  for (const device of await entries(folder)) {
    for (const port of await entries(join(folder, device, "ports"))) {
      const read = async (file: string) => ((await readOrNull(join(folder, device, "ports", port, file))) ?? "").trim();
      ports.push({ name: `${device}/${port}`, state: await read("state"), rate: await read("rate") });
    }
  }
  return ports;
}

export function fabricChecks(ports: readonly FabricPort[], limits: string | null): Check[] {
  if (ports.length === 0) return [{ ...ok(NAME, `none: ${FOLDER} has no device`), alike: "" }];
  const down = ports.filter(({ state }) => !ACTIVE.test(state));
  const up = ports.filter(({ state }) => ACTIVE.test(state)).map(({ name, rate }) => `${name} ${rate}`);
  const alike = `${up.length} active`;
  const check = down.length === 0 ? { ...ok(NAME, up.join(", ")), alike } : portsDown(down, up, alike);
  return [check, lockedMemoryCheck(limits)];
}

function portsDown(down: readonly FabricPort[], up: readonly string[], alike: string): Check {
  const detail = [...up, ...down.map(({ name, state }) => `${name} is ${state === "" ? "unknown" : state}`)].join(", ");
  const fix =
    "see ibstat: plug in the cable, or start the subnet manager (opensm); ports that are not used may stay so";
  return { ...(up.length === 0 ? problem : warning)(NAME, detail, fix), alike };
}

async function entries(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).toSorted();
  } catch {
    return []; // The kernel has no such device.
  }
}
