/** Settings of a daemon as arguments of its program. */

import { PrlError } from "../errors.ts";
import { shortened } from "../options.ts";

export interface DaemonSettings {
  /** Runs at the same time; further ones wait. Default: the daemon's. */
  maxRunning?: number;
  /** Runs that wait; further ones are refused as overloaded. Default: the daemon's. */
  maxQueued?: number;
  /** Boxes held at the same time; further ones are refused as overloaded. Default: the daemon's. */
  maxHeld?: number;
  /** Bytes of all snapshots together. Default: the daemon's. */
  snapshotBytes?: number;
  /** Bytes of all results that their callers have not read yet; nothing new begins while there are more. Default: the daemon's. */
  resultBytes?: number;
  /** Sandboxes made in advance for any program. Default: the daemon's. */
  parked?: number;
  /**
   * Sandboxes made in advance with a started interpreter: `{ python: 50, numpy: 8 }`. `node` makes this many for code and as many for
   * files, of about 30 MB. Default: the daemon's; none when only `parked` is given.
   */
  warm?: Readonly<Record<string, number>>;
  /** Further warm Pythons by name, with the modules that they have loaded: `{ science: ["numpy", "scipy.stats"] }`. */
  preload?: Readonly<Record<string, readonly string[]>>;
  /**
   * The interpreter that programs find first as `python3`, warm or not: an absolute path, also in a virtual environment. Programs see
   * the files that it needs; none of them may be below /tmp or /work, which are private in each sandbox. Default: the one in the
   * sandboxes' PATH.
   */
  python?: string;
  /** Further directories of the machine that programs see, read-only: absolute paths. Default: the system's own only. */
  readable?: readonly string[];
  /** Root file systems that requests may name: an unpacked directory, or an OCI layout. */
  images?: Readonly<Record<string, string>>;
  /** Limit of each sandbox's processor time in processors, for example 0.5. Default: no limit. */
  cpus?: number;
  /**
   * Where it answers `GET /metrics` for Prometheus, to anybody: `9400` (on 127.0.0.1) or `10.0.0.1:9400`; port 0: any that is free, which only its
   * first line of output shows. Default: nowhere.
   */
  metricsAddress?: string;
}

const NUMBERS = [
  ["maxRunning", "--max-running", 1],
  ["maxQueued", "--max-queued", 0],
  ["maxHeld", "--max-held", 0],
  ["snapshotBytes", "--snapshot-bytes", 0],
  ["resultBytes", "--result-bytes", 1],
  ["parked", "--park", 0],
] as const;

/** Errors: PRL_SANDBOX_REQUEST. */
export function daemonArguments(settings: DaemonSettings): string[] {
  const known = [
    "warm",
    "preload",
    "python",
    "readable",
    "images",
    "cpus",
    "metricsAddress",
    ...NUMBERS.map(([key]) => key),
  ];
  for (const key of Object.keys(settings)) {
    if (!known.includes(key)) throw wrong(shortened(key), `unknown option; known are ${known.join(", ")}`);
  }
  const { warm = {}, preload = {}, python, cpus, metricsAddress, readable = [], images = {} } = settings;
  const numbers = NUMBERS.flatMap(([key, flag, least]) => {
    const value = settings[key];
    return value === undefined ? [] : [flag, String(count(key, value, least))];
  });
  const interpreters = Object.entries(warm).map(([name, value]) => `${name}=${count(`warm.${name}`, value, 0)}`);
  if (cpus !== undefined && !(Number.isFinite(cpus) && cpus > 0)) throw wrong("cpus", "expected a number above 0");
  return [
    ...numbers,
    ...(interpreters.length === 0 ? [] : ["--warm", interpreters.join(",")]),
    ...Object.entries(preload).flatMap(([name, modules]) => ["--preload", `${name}=${modules.join(",")}`]),
    ...(python === undefined ? [] : ["--python", python]),
    ...readable.flatMap((dir) => ["--readable", dir]),
    ...Object.entries(images).flatMap(([name, dir]) => ["--image", `${name}=${dir}`]),
    ...(cpus === undefined ? [] : ["--cpus", String(cpus)]),
    ...(metricsAddress === undefined ? [] : ["--metrics-address", metricsAddress]),
  ];
}

function count(key: string, value: number, least: number): number {
  if (!Number.isSafeInteger(value) || value < least) {
    throw wrong(key, `expected a whole number of at least ${least}, got ${String(value)}`);
  }
  return value;
}

function wrong(key: string, message: string): PrlError {
  return new PrlError("PRL_SANDBOX_REQUEST", `sandbox pool, ${key}: ${message}`);
}
