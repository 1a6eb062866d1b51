/** The GPUs of a host and their driver, by `nvidia-smi`. */
import { execFile } from "node:child_process";

import { messageOf } from "../../errors.ts";
import { hasNvidiaDriver } from "../../python/index.ts";
import { bytesText, type Check, ok, problem, warning } from "./check.ts";

const MIB = 1024 ** 2;
/** A driver that starts a GPU may take seconds; one that hangs takes for ever. */
const DEADLINE_MS = 60_000;
const FIELDS = [
  "index",
  "name",
  "driver_version",
  "memory.total",
  "memory.used",
  "ecc.errors.uncorrected.volatile.total",
];

export interface Gpu {
  readonly name: string;
  readonly driver: string;
  readonly bytes: number;
  readonly usedBytes: number;
  /** Errors of memory that it could not correct since the last restart; null where it does not count them. */
  readonly errors: number | null;
}

/** Null without `nvidia-smi`; a text: why it does not answer. */
export async function findGpus(): Promise<readonly Gpu[] | string | null> {
  const args = [`--query-gpu=${FIELDS.join(",")}`, "--format=csv,noheader,nounits"];
  return new Promise((resolve) => {
    execFile("nvidia-smi", args, { timeout: DEADLINE_MS, killSignal: "SIGKILL" }, (cause, stdout, stderr) => {
      if (cause === null) resolve(parseGpus(stdout));
      else if (cause.code === "ENOENT") resolve(null);
      else
        resolve(
          cause.killed === true
            ? `no answer within ${DEADLINE_MS / 1000} s`
            : firstLine(stdout, stderr, messageOf(cause)),
        );
    });
  });
}

/** A text of `nvidia-smi --format=csv,noheader,nounits` with the fields above. */
export function parseGpus(text: string): Gpu[] {
  const rows = text.split("\n").filter((line) => line.trim() !== "");
  return rows.map((row) => {
    const [, name = "", driver = "", total = "", used = "", errors = ""] = row.split(",").map((cell) => cell.trim());
    return {
      name,
      driver,
      bytes: Number(total) * MIB,
      usedBytes: Number(used) * MIB,
      errors: /^\d+$/u.test(errors) ? Number(errors) : null,
    };
  });
}

export async function gpuChecks(found: readonly Gpu[] | string | null): Promise<Check[]> {
  if (found === null) {
    if (!(await hasNvidiaDriver()))
      return [ok("Driver", "none: nvidia-smi is not there"), { ...ok("GPUs", "none"), alike: "" }];
    return [
      warning("Driver", "there, but nvidia-smi is not", "install the driver's programs (nvidia-utils)"),
      gpusUnknown(),
    ];
  }
  if (typeof found === "string")
    return [
      problem("Driver", `nvidia-smi: ${found}`, "load the driver (modprobe nvidia), or restart the host"),
      gpusUnknown(),
    ];
  return [driverCheck(found), gpusCheck(found)];
}

function driverCheck(gpus: readonly Gpu[]): Check {
  const [first] = gpus;
  if (first === undefined)
    return problem(
      "Driver",
      "it has no GPU",
      "see dmesg: the GPUs fell off the bus, or are not given to the container",
    );
  return { ...ok("Driver", first.driver), alike: first.driver };
}

function gpusCheck(gpus: readonly Gpu[]): Check {
  const kinds = new Map<string, number>();
  for (const { name, bytes } of gpus) {
    const kind = `${name} ${bytesText(bytes)}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const detail = [...kinds].map(([kind, count]) => `${count} × ${kind}`).join(", ");
  const broken = gpus.flatMap(({ errors }, index) => (errors === null || errors === 0 ? [] : [index]));
  if (broken.length > 0) {
    const fix = "reset them or restart the host; replace one that has errors again";
    return problem("GPUs", `${detail}; uncorrected memory errors on ${broken.join(", ")}`, fix);
  }
  const busy = gpus.flatMap(({ usedBytes, bytes }, index) => (usedBytes > bytes / 10 ? [index] : []));
  if (busy.length > 0)
    return warning(
      "GPUs",
      `${detail}; memory is in use on ${busy.join(", ")}`,
      "end what uses them, or leave them out",
    );
  return { ...ok("GPUs", detail), alike: detail };
}

function gpusUnknown(): Check {
  return ok("GPUs", "not known without nvidia-smi");
}

function firstLine(...texts: readonly string[]): string {
  const said = texts.map((text) => text.trim()).find((text) => text !== "") ?? "";
  return said.split("\n")[0] ?? "";
}
