import { describe, expect, test } from "vitest";
import { executeCode } from "../../../ts/sandbox/execute-code.ts";
import { cancelledResult } from "../../../ts/sandbox/run-result.ts";
import type { RunResult, TestsRequest, TestsResult } from "../../../ts/sandbox/index.ts";

const ran = (changes: Partial<RunResult>): RunResult => ({
  ...cancelledResult(),
  cause: "EXITED",
  exitCode: 0,
  ...changes,
});
const judged = async (runs: (RunResult | null)[], expected: string, build: RunResult | null = null) => {
  const sent: TestsRequest[] = [];
  const runTests = async (request: TestsRequest): Promise<TestsResult> => {
    sent.push(request);
    return { build, results: runs };
  };
  const tests = runs.map(() => ({ input: "in", output: expected }));
  const result = await executeCode(runTests, "print(1)", tests, build === null ? {} : { language: "c" });
  return { passed: result.passed, each: result.results.map(({ passed }) => passed), sent };
};

describe("judging a program's output", () => {
  test("passes when every test prints the expected output", async () => {
    const { passed, sent } = await judged([ran({ stdout: Buffer.from("1 \n2\n\n") })], "1\n2");
    expect(passed).toBe(true);
    expect(sent).toEqual([
      {
        program: ["python3", "main.py"],
        cases: [{ stdin: "in" }],
        files: { "main.py": "print(1)" },
        stopOnFailure: false,
      },
    ]);
  });

  test.each<[string, Partial<RunResult>]>([
    ["another output", { stdout: Buffer.from("2") }],
    ["the right output and a failing exit", { stdout: Buffer.from("1"), exitCode: 1 }],
    ["a kill by our limits", { stdout: Buffer.from("1"), cause: "WALL_TIMEOUT", exitCode: null }],
    ["an output with a gap", { stdout: Buffer.from("1"), stdoutGap: 1 }],
  ])("fails with %s", async (_, changes) => {
    expect((await judged([ran({ stdout: Buffer.from("1") }), ran(changes)], "1")).each).toEqual([true, false]);
  });

  test("gives no verdict where the infrastructure failed or nothing was begun", async () => {
    const right = ran({ stdout: Buffer.from("1") });
    const infra = ran({ cause: "INFRA", exitCode: null });
    expect(await judged([right, infra], "1")).toMatchObject({ passed: null, each: [true, null] });
    expect(await judged([ran({}), infra, null], "1")).toMatchObject({ passed: false, each: [false, null, null] });
  });

  test("a program that does not compile fails every test, a compiler that was lost none", async () => {
    const { passed, each, sent } = await judged([null, null], "1", ran({ exitCode: 1 }));
    expect([passed, each]).toEqual([false, [false, false]]);
    expect(sent[0]).toMatchObject({ program: ["./main"], build: expect.arrayContaining(["gcc", "main.c"]) });
    const lost = ran({ cause: "INFRA", exitCode: null });
    expect(await judged([lost, lost], "1", lost)).toMatchObject({ passed: null, each: [null, null] });
    expect(await judged([ran({ stdout: Buffer.from("1") })], "1", ran({}))).toMatchObject({ passed: true });
  });

  test("refuses no tests and languages that are not there", async () => {
    const never = async (): Promise<TestsResult> => {
      throw new Error("it is not called");
    };
    await expect(executeCode(never, "x", [], {})).rejects.toMatchObject({ code: "PRL_SANDBOX_REQUEST" });
    const cobol = { language: "cobol" } as unknown as { language: "python" };
    await expect(executeCode(never, "x", [{ input: "", output: "" }], cobol)).rejects.toMatchObject({
      code: "PRL_SANDBOX_UNSUPPORTED",
    });
  });
});
