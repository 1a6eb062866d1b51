/** Turns users' requests for runs and tests into checked native requests. Errors: PRL_SANDBOX_REQUEST. */

import type { NativeRunRequest, NativeTestsRequest } from "../native/index.ts";
import {
  bytesOf,
  inputFiles,
  knownKeys,
  nativeLimits,
  nativeNetwork,
  optionalCount,
  strings,
  stricter,
  words,
  wrong,
} from "./request-checks.ts";
import type { Isolation, RunRequest, TestsRequest } from "./types.ts";

const NO_BYTES = new Uint8Array(0);
const COMMON = {
  files: true,
  env: true,
  cwd: true,
  network: true,
  queueMs: true,
  minIsolation: true,
  labels: true,
  signal: true,
  key: true,
  runtime: true,
  image: true,
} as const;
const RUN: Readonly<Record<keyof RunRequest, true>> = {
  ...COMMON,
  command: true,
  stdin: true,
  collect: true,
  limits: true,
};
const TESTS: Readonly<Record<keyof TestsRequest, true>> = {
  ...COMMON,
  program: true,
  cases: true,
  limitsPerCase: true,
  stopOnFailure: true,
  build: true,
  buildLimits: true,
};
const CASE: Readonly<Record<keyof TestsRequest["cases"][number], true>> = { stdin: true, args: true };

export function toNativeRequest(request: RunRequest, key: string, poolIsolation: Isolation | null): NativeRunRequest {
  knownKeys(request, RUN, "");
  return {
    key,
    command: words(request.command, "command"),
    stdin: bytesOf(request.stdin ?? NO_BYTES, "stdin"),
    files: inputFiles(request.files),
    collect: [...(request.collect ?? [])],
    env: strings(request.env, "env"),
    cwd: request.cwd ?? "",
    limits: nativeLimits(request.limits),
    network: nativeNetwork(request.network, "run"),
    queueMs: optionalCount(request.queueMs, "queueMs", 0),
    minIsolation: stricter(request.minIsolation, poolIsolation),
    labels: strings(request.labels, "labels"),
    runtime: request.runtime ?? "",
    image: request.image ?? "",
  };
}

/** `cancel` is the key for cancelling them. */
export function toNativeTests(
  request: TestsRequest,
  cancel: string,
  poolIsolation: Isolation | null,
): NativeTestsRequest {
  knownKeys(request, TESTS, "");
  const { program, cases, limitsPerCase, stopOnFailure = false, build, buildLimits, ...common } = request;
  if (!Array.isArray(cases) || cases.length === 0) throw wrong("cases", "expected a list that is not empty");
  const command = words(program, "program");
  return {
    cancel,
    run: toNativeRequest({ ...common, command, limits: limitsPerCase ?? {} }, request.key ?? "", poolIsolation),
    cases: cases.map((one, i) => {
      knownKeys(one, CASE, `cases[${i}].`);
      const args = one.args ?? [];
      if (args.length > 0) words(args, `cases[${i}].args`);
      return { stdin: bytesOf(one.stdin ?? NO_BYTES, `cases[${i}].stdin`), args: [...args] };
    }),
    stopOnFailure,
    build: build === undefined ? [] : words(build, "build"),
    buildLimits: nativeLimits(buildLimits, "buildLimits"),
  };
}
