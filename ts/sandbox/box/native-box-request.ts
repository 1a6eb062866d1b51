/** Turns users' requests for boxes, execs and processes into checked native requests. */

import type { NativeCreateRequest, NativeExecRequest, NativeStartRequest } from "../../native/index.ts";
import type { BoxRequest, ExecOptions, StartProcessOptions } from "./box-types.ts";
import {
  bytesOf,
  count,
  inputFiles,
  knownKeys,
  nativeLimits,
  nativeNetwork,
  optionalCount,
  strings,
  stricter,
  words,
  wrong,
} from "../request-checks.ts";
import type { Isolation } from "../types.ts";

const NO_BYTES = new Uint8Array(0);
/** Default size of a terminal. */
const PTY = { rows: 24, columns: 80 };
const USERS: readonly string[] = ["sandbox", "nobody"];

const CREATE: Readonly<Record<keyof BoxRequest, true>> = {
  profile: true,
  ttlMs: true,
  leaseMs: true,
  labels: true,
  from: true,
  limits: true,
  network: true,
  env: true,
  files: true,
  image: true,
  minIsolation: true,
  queueMs: true,
  id: true,
  signal: true,
};
const COMMAND = { stdin: true, env: true, cwd: true, timeoutMs: true, limits: true, user: true } as const;
const EXEC: Readonly<Record<keyof ExecOptions, true>> = {
  ...COMMAND,
  runtime: true,
  onStdout: true,
  onStderr: true,
  signal: true,
  key: true,
};
const START: Readonly<Record<keyof StartProcessOptions, true>> = {
  ...COMMAND,
  id: true,
  pty: true,
  lossless: true,
};

/** Errors: PRL_SANDBOX_REQUEST. */
export function toNativeCreate(request: BoxRequest, id: string, poolIsolation: Isolation | null): NativeCreateRequest {
  knownKeys(request, CREATE, "");
  const { from } = request;
  return {
    id,
    leaseMs: optionalCount(request.leaseMs, "leaseMs", 1),
    lifetimeMs: optionalCount(request.ttlMs, "ttlMs", 1),
    labels: strings(request.labels, "labels"),
    limits: nativeLimits(request.limits),
    network: nativeNetwork(request.network, "box"),
    runtime: request.profile ?? "",
    image: request.image ?? "",
    fromSnapshot: from === undefined ? "" : typeof from === "string" ? from : from.id,
    env: strings(request.env, "env"),
    files: inputFiles(request.files),
    minIsolation: stricter(request.minIsolation, poolIsolation),
    queueMs: optionalCount(request.queueMs, "queueMs", 0),
  };
}

/** Errors: PRL_SANDBOX_REQUEST. */
export function toNativeExec(command: readonly string[], options: ExecOptions, key: string): NativeExecRequest {
  knownKeys(options, EXEC, "");
  const { limits = {}, timeoutMs, user } = options;
  if (user !== undefined && !USERS.includes(user)) {
    throw wrong("user", `expected one of ${USERS.join(", ")}, got ${JSON.stringify(user)}`);
  }
  if (timeoutMs !== undefined && limits.wallMs !== undefined) throw wrong("timeoutMs", "limits.wallMs is the same");
  return {
    key,
    command: words(command, "command"),
    stdin: bytesOf(options.stdin ?? NO_BYTES, "stdin"),
    env: strings(options.env, "env"),
    cwd: options.cwd ?? "",
    limits: {
      ...nativeLimits(limits),
      ...(timeoutMs === undefined ? {} : { wallMs: count(timeoutMs, "timeoutMs", 1) }),
    },
    user: user ?? "",
    runtime: options.runtime ?? "",
  };
}

/** The input stays open unless the whole input is given. Errors: PRL_SANDBOX_REQUEST. */
export function toNativeStart(
  command: readonly string[],
  options: StartProcessOptions,
  id: string,
  key: string,
): NativeStartRequest {
  knownKeys(options, START, "");
  const { id: _, pty, lossless = false, ...exec } = options;
  const size = pty === true ? PTY : pty === undefined || pty === false ? null : pty;
  return {
    exec: toNativeExec(command, exec, key),
    process: id,
    pty:
      size === null ? null : { rows: count(size.rows, "pty.rows", 1), columns: count(size.columns, "pty.columns", 1) },
    keepStdin: options.stdin === undefined,
    lossless,
    repl: "",
  };
}
