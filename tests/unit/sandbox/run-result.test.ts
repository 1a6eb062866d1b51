import { describe, expect, test } from "vitest";
import type { NativeRunResult } from "../../../ts/native/index.ts";
import { toRunResult, toTestsResult } from "../../../ts/sandbox/run-result.ts";

const output = (text: string) => ({ data: Buffer.from(text), headBytes: text.length, gap: 0 });
const native = (changes: Partial<NativeRunResult>): NativeRunResult => ({
  cause: "EXITED",
  reason: "",
  errorCode: "",
  limitsHit: [],
  exitCode: 0,
  signal: null,
  stdout: output("out"),
  stderr: output("err"),
  files: [],
  uncollected: [],
  cpuMs: 1.5,
  peakMemoryBytes: null,
  processes: 2,
  queueMs: 1,
  setupMs: 2,
  runMs: 3,
  drainMs: 4,
  isolation: "full",
  replayed: false,
  retryAfterMs: null,
  runtime: "exec",
  ...changes,
});

describe("a result crossing the border", () => {
  test("keeps the files that a program left", () => {
    const result = toRunResult(
      native({
        exitCode: 3,
        stdout: { data: Buffer.from("headtail"), headBytes: 4, gap: 1000 },
        files: [
          { path: "out/a", content: Buffer.of(1) },
          { path: "__proto__", content: Buffer.of(2) },
        ],
      }),
    );
    expect(result).toMatchObject({ cause: "EXITED", exitCode: 3, signal: null, stdoutGap: 1000, stdoutGapAt: 4 });
    expect(result.stdout.toString()).toBe("headtail");
    expect(Object.keys(result.files)).toEqual(["out/a", "__proto__"]);
    expect(result.usage).toEqual({ cpuMs: 1.5, peakMemoryBytes: null, processes: 2 });
    expect(result.timings).toEqual({ queueMs: 1, setupMs: 2, runMs: 3, drainMs: 4 });
  });

  test.each([
    [11, "SIGSEGV"],
    [9, "SIGKILL"],
    [6, "SIGABRT"],
    [31, "SIGSYS"],
    [35, "SIG35"],
  ])("names signal %d %s", (signal, name) => {
    expect(toRunResult(native({ cause: "SIGNALED", exitCode: null, signal })).signal).toBe(name);
  });

  test("an overloaded daemon is INFRA with one word and a time", () => {
    const result = toRunResult(
      native({
        cause: "INFRA",
        errorCode: "PRL_SANDBOX_OVERLOADED",
        reason: "the queue is full",
        exitCode: null,
        retryAfterMs: 40,
        isolation: "none",
      }),
    );
    expect(result).toMatchObject({
      cause: "INFRA",
      reason: "overloaded",
      detail: "the queue is full",
      retryAfterMs: 40,
      exitCode: null,
      isolation: null,
    });
  });
});

describe("results of tests", () => {
  const infra = native({ cause: "INFRA", errorCode: "PRL_SANDBOX_CONNECTION_LOST", exitCode: null });

  test("a case that the infrastructure lost says so", () => {
    const { build, results } = toTestsResult({ build: null, cases: [native({}), null], endedEarly: infra });
    expect(build).toBeNull();
    expect(results.map((one) => one?.cause)).toEqual(["EXITED", "INFRA"]);
    expect(results[1]).toMatchObject({ reason: "connection_lost", exitCode: null });
  });

  test("a case that was not begun has no result", () => {
    const failed = native({ exitCode: 1 });
    const { build, results } = toTestsResult({ build: failed, cases: [null, null], endedEarly: null });
    expect(build?.exitCode).toBe(1);
    expect(results).toEqual([null, null]);
  });
});
