/** Checks for all requests. Errors are PRL_SANDBOX_REQUEST and name the key at fault. */

import { PrlError } from "../errors.ts";
import { shortened } from "../options.ts";
import type { NativeRunLimits, NativeRunRequest, NativeNetwork } from "../native/index.ts";
import type { FileContent, Files, Forward, Isolation, Network, RunLimits } from "./types.ts";

/** Permission bits of a file without given ones: the daemon's default. */
const DEFAULT_MODE = 0;
const MAX_MODE = 0o777;
const MAX_PORT = 65_535;
const ISOLATIONS: readonly string[] = ["process", "rootless", "full"];

const LIMITS: Readonly<Record<keyof RunLimits, true>> = {
  wallMs: true,
  cpuMs: true,
  memoryBytes: true,
  processes: true,
  openFiles: true,
  outputBytes: true,
  outputKillBytes: true,
  diskBytes: true,
  inodes: true,
  collectBytes: true,
};
const NETWORK: Readonly<Record<keyof Exclude<Network, string>, true>> = { allow: true, forward: true };
const FORWARD: Readonly<Record<keyof Forward, true>> = { listen: true, to: true, by: true };

export function wrong(where: string, message: string): PrlError {
  return new PrlError("PRL_SANDBOX_REQUEST", `sandbox request, ${where}: ${message}`);
}

export function knownKeys(given: object, known: object, prefix: string): void {
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(known, key)) continue;
    throw wrong(prefix + shortened(key), `unknown key; known are ${Object.keys(known).join(", ")}`);
  }
}

/** A program and its arguments. */
export function words(command: readonly string[], where: string): string[] {
  if (!Array.isArray(command) || command.length === 0 || !command.every((word) => typeof word === "string")) {
    throw wrong(where, "expected the program and its arguments, a list of strings that is not empty");
  }
  if (command.some((word) => word.includes("\0"))) throw wrong(where, "a word holds a zero byte");
  return [...command];
}

export function count(value: number, where: string, least: number): number {
  if (!Number.isSafeInteger(value) || value < least) {
    throw wrong(where, `expected a whole number of at least ${least}, got ${String(value)}`);
  }
  return value;
}

export function optionalCount(value: number | undefined, where: string, least: number): number | null {
  return value === undefined ? null : count(value, where, least);
}

export function bytesOf(content: FileContent, where: string): Uint8Array {
  if (typeof content === "string") return Buffer.from(content, "utf8");
  if (content instanceof Uint8Array) return content;
  throw wrong(where, "expected a string or bytes");
}

export function modeOf(mode: number | undefined, where: string): number {
  if (mode === undefined) return DEFAULT_MODE;
  if (count(mode, where, 0) > MAX_MODE) throw wrong(where, "only permission bits, up to 0o777");
  return mode;
}

export function strings(record: Readonly<Record<string, string>> | undefined, where: string): Record<string, string> {
  for (const [name, value] of Object.entries(record ?? {})) {
    if (typeof value !== "string") throw wrong(`${where}.${name}`, "expected a string");
  }
  return { ...record };
}

export function inputFiles(files: Files | undefined): NativeRunRequest["files"] {
  return Object.entries(files ?? {}).map(([path, file]) => {
    const where = `files[${JSON.stringify(path)}]`;
    if (typeof file === "string" || file instanceof Uint8Array) {
      return { path, content: bytesOf(file, where), mode: DEFAULT_MODE };
    }
    return { path, content: bytesOf(file.content, `${where}.content`), mode: modeOf(file.mode, `${where}.mode`) };
  });
}

export function nativeLimits(limits: RunLimits = {}, where = "limits"): NativeRunLimits {
  knownKeys(limits, LIMITS, `${where}.`);
  const of = (name: keyof RunLimits): number | null => optionalCount(limits[name], `${where}.${name}`, 1);
  return {
    wallMs: of("wallMs"),
    cpuMs: of("cpuMs"),
    memoryBytes: of("memoryBytes"),
    processes: of("processes"),
    openFiles: of("openFiles"),
    outputBytes: of("outputBytes"),
    outputKillBytes: of("outputKillBytes"),
    diskBytes: of("diskBytes"),
    inodes: of("inodes"),
    collectBytes: of("collectBytes"),
  };
}

/** @param of the network of a run has no forward by the caller, who only waits for the result */
export function nativeNetwork(network: Network = "none", of: "run" | "box"): NativeNetwork {
  if (network === "none") return { allow: null, forward: [] };
  if (typeof network !== "object" || network === null) {
    throw wrong("network", `expected "none" or { allow, forward }, got ${JSON.stringify(network)}`);
  }
  knownKeys(network, NETWORK, "network.");
  const allow = network.allow ?? null;
  if (allow !== null && !(Array.isArray(allow) && allow.every((entry) => typeof entry === "string"))) {
    throw wrong("network.allow", 'expected a list of "host", "host:port" or "*.host:port"');
  }
  const forward = (network.forward ?? []).map((one, i) => nativeForward(one, `network.forward[${i}]`, of));
  return { allow: allow === null ? null : [...allow], forward };
}

function nativeForward(forward: Forward, where: string, of: "run" | "box"): NativeNetwork["forward"][number] {
  knownKeys(forward, FORWARD, `${where}.`);
  const { listen, to, by = "daemon" } = forward;
  if (typeof to !== "string") throw wrong(`${where}.to`, 'expected "host:port" or "unix:/path"');
  if (by !== "daemon" && by !== "caller") {
    throw wrong(`${where}.by`, `expected "daemon" or "caller", got ${JSON.stringify(by)}`);
  }
  if (by === "caller" && of === "run") {
    throw wrong(`${where}.by`, '"caller" needs a box, which this process holds (pool.create); a run has none');
  }
  return { listen: port(listen, `${where}.listen`), to, byCaller: by === "caller" };
}

export function port(value: number, where: string): number {
  if (count(value, where, 1) > MAX_PORT) throw wrong(where, `expected a port, got ${value}`);
  return value;
}

export function checkIsolation(value: string, where: string): void {
  if (!ISOLATIONS.includes(value)) {
    throw wrong(where, `expected one of ${ISOLATIONS.join(", ")}, got ${JSON.stringify(value)}`);
  }
}

/** A request can ask for more than its pool promises, never for less. */
export function stricter(asked: Isolation | undefined, poolIsolation: Isolation | null): string {
  if (asked !== undefined) checkIsolation(asked, "minIsolation");
  const least = Math.max(ISOLATIONS.indexOf(asked ?? ""), ISOLATIONS.indexOf(poolIsolation ?? ""));
  return ISOLATIONS[least] ?? "any";
}
