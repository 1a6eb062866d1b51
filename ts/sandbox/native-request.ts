/** A request as users write it, checked and in the shape that crosses the border. Mistakes are told by the key at fault. */

import { PrlError } from "../errors.ts";
import type { NativeRunRequest } from "../native/index.ts";
import type { FileContent, Isolation, RunLimits, RunRequest } from "./types.ts";

const NO_BYTES = new Uint8Array(0);
/** Permission bits of a file without any given: the daemon's default. */
const DEFAULT_MODE = 0;
const MAX_MODE = 0o777;
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
const KEYS: Readonly<Record<keyof RunRequest, true>> = {
  command: true,
  stdin: true,
  files: true,
  collect: true,
  env: true,
  cwd: true,
  limits: true,
  network: true,
  queueMs: true,
  minIsolation: true,
  labels: true,
  signal: true,
  key: true,
};

/** Errors: PRL_SANDBOX_REQUEST, PRL_SANDBOX_UNSUPPORTED. */
export function toNativeRequest(request: RunRequest, key: string, poolIsolation: Isolation | null): NativeRunRequest {
  knownKeys(request, KEYS, "");
  const { command, limits = {}, network = "none", minIsolation } = request;
  if (!Array.isArray(command) || command.length === 0 || !command.every((word) => typeof word === "string")) {
    throw wrong("command", "expected the program and its arguments, a list of strings that is not empty");
  }
  if (command.some((word) => word.includes("\0"))) throw wrong("command", "a word holds a zero byte");
  if (network !== "none") {
    throw new PrlError(
      "PRL_SANDBOX_UNSUPPORTED",
      `network: only "none" is implemented, got ${JSON.stringify(network)}`,
    );
  }
  if (minIsolation !== undefined) checkIsolation(minIsolation, "minIsolation");
  return {
    key,
    command: [...command],
    stdin: bytesOf(request.stdin ?? NO_BYTES, "stdin"),
    files: Object.entries(request.files ?? {}).map(([path, file]) => inputFile(path, file)),
    collect: [...(request.collect ?? [])],
    env: strings(request.env, "env"),
    cwd: request.cwd ?? "",
    limits: nativeLimits(limits),
    queueMs: request.queueMs === undefined ? null : count(request.queueMs, "queueMs", 0),
    minIsolation: stricter(minIsolation, poolIsolation),
    labels: strings(request.labels, "labels"),
  };
}

/** A request can ask for more than its pool promises, never for less. */
function stricter(asked: Isolation | undefined, poolIsolation: Isolation | null): string {
  const least = Math.max(ISOLATIONS.indexOf(asked ?? ""), ISOLATIONS.indexOf(poolIsolation ?? ""));
  return ISOLATIONS[least] ?? "any";
}

/** Errors: PRL_SANDBOX_REQUEST. */
export function checkIsolation(value: string, where: string): void {
  if (!ISOLATIONS.includes(value)) {
    throw wrong(where, `expected one of ${ISOLATIONS.join(", ")}, got ${JSON.stringify(value)}`);
  }
}

function inputFile(
  path: string,
  file: FileContent | { content: FileContent; mode: number },
): NativeRunRequest["files"][number] {
  const where = `files[${JSON.stringify(path)}]`;
  if (typeof file === "string" || file instanceof Uint8Array) {
    return { path, content: bytesOf(file, where), mode: DEFAULT_MODE };
  }
  const mode = count(file.mode, `${where}.mode`, 0);
  if (mode > MAX_MODE) throw wrong(`${where}.mode`, "only permission bits, up to 0o777");
  return { path, content: bytesOf(file.content, `${where}.content`), mode };
}

function nativeLimits(limits: RunLimits): NativeRunRequest["limits"] {
  knownKeys(limits, LIMITS, "limits.");
  const of = (name: keyof RunLimits): number | null => {
    const value = limits[name];
    return value === undefined ? null : count(value, `limits.${name}`, 1);
  };
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

function bytesOf(content: FileContent, where: string): Uint8Array {
  if (typeof content === "string") return Buffer.from(content, "utf8");
  if (content instanceof Uint8Array) return content;
  throw wrong(where, "expected a string or bytes");
}

function strings(record: Readonly<Record<string, string>> | undefined, where: string): Record<string, string> {
  for (const [name, value] of Object.entries(record ?? {})) {
    if (typeof value !== "string") throw wrong(`${where}.${name}`, "expected a string");
  }
  return { ...record };
}

function count(value: number, where: string, least: number): number {
  if (!Number.isSafeInteger(value) || value < least) {
    throw wrong(where, `expected a whole number of at least ${least}, got ${String(value)}`);
  }
  return value;
}

function knownKeys(given: object, known: object, prefix: string): void {
  for (const key of Object.keys(given)) {
    if (!(key in known)) throw wrong(prefix + key, `unknown key; known are ${Object.keys(known).join(", ")}`);
  }
}

function wrong(where: string, message: string): PrlError {
  return new PrlError("PRL_SANDBOX_REQUEST", `sandbox request, ${where}: ${message}`);
}
