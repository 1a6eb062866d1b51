import { describe, expect, test } from "vitest";
import { executeCode } from "../../../ts/sandbox/execute-code.ts";
import { cancelledResult } from "../../../ts/sandbox/run-result.ts";
import type { RunRequest, RunResult } from "../../../ts/sandbox/index.ts";

const ran = (changes: Partial<RunResult>): RunResult => ({
  ...cancelledResult(),
  cause: "EXITED",
  exitCode: 0,
  ...changes,
});
const judged = async (runs: RunResult[], expected: string) => {
  const sent: RunRequest[] = [];
  const runMany = async (requests: RunRequest[]): Promise<RunResult[]> => {
    sent.push(...requests);
    return runs;
  };
  const result = await executeCode(
    runMany,
    "print(1)",
    runs.map(() => ({ input: "in", output: expected })),
    {},
  );
  return { passed: result.passed, each: result.results.map(({ passed }) => passed), sent };
};

describe("judging a program's output", () => {
  test("passes when every test prints what it should", async () => {
    const { passed, sent } = await judged([ran({ stdout: Buffer.from("1 \n2\n\n") })], "1\n2");
    expect(passed).toBe(true);
    expect(sent).toEqual([{ command: ["python3", "main.py"], stdin: "in", files: { "main.py": "print(1)" } }]);
  });

  test.each<[string, Partial<RunResult>]>([
    ["another output", { stdout: Buffer.from("2") }],
    ["the right output and a failing exit", { stdout: Buffer.from("1"), exitCode: 1 }],
    ["a kill by our limits", { stdout: Buffer.from("1"), cause: "WALL_TIMEOUT", exitCode: null }],
    ["an output with a gap", { stdout: Buffer.from("1"), stdoutGap: 1 }],
  ])("fails with %s", async (_, changes) => {
    expect((await judged([ran({ stdout: Buffer.from("1") }), ran(changes)], "1")).each).toEqual([true, false]);
  });

  test("gives no verdict where the infrastructure failed", async () => {
    const right = ran({ stdout: Buffer.from("1") });
    const infra = ran({ cause: "INFRA", exitCode: null });
    expect(await judged([right, infra], "1")).toMatchObject({ passed: null, each: [true, null] });
    expect(await judged([ran({}), infra], "1")).toMatchObject({ passed: false, each: [false, null] });
  });

  test("refuses no tests and languages that are not there", async () => {
    await expect(executeCode(async () => [], "x", [], {})).rejects.toMatchObject({ code: "PRL_SANDBOX_REQUEST" });
    const cobol = { language: "cobol" } as unknown as { language: "python" };
    await expect(executeCode(async () => [], "x", [{ input: "", output: "" }], cobol)).rejects.toMatchObject({
      code: "PRL_SANDBOX_UNSUPPORTED",
    });
  });
});
