/** Checks that the torch of a Python environment fits the driver and the number of GPUs. Without a GPU nothing of it is a problem. */
import type { CudaBuild } from "../../python/index.ts";
import { type Check, ok, problem, warning } from "./check.ts";
import type { Gpu } from "./gpus.ts";

/** Oldest driver on Linux for each major version of CUDA, by NVIDIA's tables of compatibility. */
const OLDEST_DRIVERS: readonly (readonly [cuda: number, driver: string])[] = [
  [11, "450.80.02"],
  [12, "525.60.13"],
  [13, "580.65.06"],
];

/** `again`: the command that makes the environment anew. */
export function cudaChecks(name: string, { cuda, nccl }: CudaBuild, gpus: readonly Gpu[], again: string): Check[] {
  const title = `CUDA for ${name}`;
  const [first] = gpus;
  if (first === undefined) {
    return [ok(title, cuda === null ? "none, and no GPU" : `${cuda}; without a GPU it computes on processors`)];
  }
  if (cuda === null) {
    return [warning(title, "this torch is for processors and leaves the GPUs alone", again)];
  }
  return [
    driverCheck(title, cuda, first.driver),
    ...(gpus.length < 2 ? [] : [ncclCheck(`NCCL for ${name}`, nccl, again)]),
  ];
}

function driverCheck(title: string, cuda: string, driver: string): Check {
  const major = Number.parseInt(cuda, 10);
  const oldest = OLDEST_DRIVERS.find(([version]) => version === major)?.[1];
  if (oldest === undefined) return ok(title, `${cuda}, driver ${driver}; the oldest driver for it is not known here`);
  if (order(driver, oldest) >= 0) return ok(title, `${cuda}, driver ${driver} (needs ${oldest} or newer)`);
  const others = OLDEST_DRIVERS.filter(([, each]) => order(driver, each) >= 0).map(([version]) => version);
  const other = others.at(-1);
  const instead =
    other === undefined
      ? ""
      : `, or name an interpreter with a torch for CUDA ${other} (trainer.python, inference.python)`;
  return problem(
    title,
    `${cuda} needs driver ${oldest}, and this is ${driver}`,
    `install driver ${oldest} or newer${instead}`,
  );
}

function ncclCheck(title: string, nccl: string | null, again: string): Check {
  if (nccl !== null) return ok(title, nccl);
  return warning(title, "not found: several GPUs cannot work together without it", again);
}

/** Compares versions of numbers with dots. */
function order(one: string, other: string): number {
  const [left, right] = [one.split(".").map(Number), other.split(".").map(Number)];
  const at = left.findIndex((part, index) => part !== (right[index] ?? 0));
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}
