/** Many tests of one program in one sandbox. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SandboxPool } from "../../../../ts/sandbox/index.ts";

let pool: SandboxPool;
beforeAll(async () => {
  pool = await SandboxPool.start();
});
afterAll(async () => pool.close());

const sh = (script: string): string[] => ["sh", "-c", script];

describe("tests of one program", () => {
  test("each get their input, their arguments and a clean layer over the build's files", async () => {
    const { build, results } = await pool.runTests({
      program: sh('cat built; cat; echo "$1"; ls -A; echo left > left; mkdir -p made; exit ${#1}'),
      build: sh("echo from the build > built; echo compiling"),
      files: { given: "x" },
      cases: [{ stdin: "one\n", args: ["sh", ""] }, { stdin: "two\n", args: ["sh", "ab"] }, {}],
    });
    expect(build).toMatchObject({ cause: "EXITED", exitCode: 0, stdout: Buffer.from("compiling\n") });
    expect(results.map((one) => one?.stdout.toString())).toEqual([
      "from the build\none\n\nbuilt\ngiven\n",
      "from the build\ntwo\nab\nbuilt\ngiven\n",
      "from the build\n\nbuilt\ngiven\n",
    ]);
    expect(results.map((one) => one?.exitCode)).toEqual([0, 2, 0]);
  });

  test("a limit is of each case", async () => {
    const { results } = await pool.runTests({
      program: ["python3", "-c", "import time,sys; time.sleep(float(input()))"],
      cases: [{ stdin: "0" }, { stdin: "60" }, { stdin: "0" }],
      limitsPerCase: { wallMs: 500 },
    });
    expect(results.map((one) => one?.cause)).toEqual(["EXITED", "WALL_TIMEOUT", "EXITED"]);
  });

  test("none is begun after a failure, when that is wanted, or after a build that failed", async () => {
    const stopped = await pool.runTests({
      program: sh('exit "$(cat)"'),
      cases: ["0", "3", "0", "0"].map((stdin) => ({ stdin })),
      stopOnFailure: true,
    });
    expect(stopped.results.map((one) => one?.exitCode)).toEqual([0, 3, undefined, undefined]);
    const unbuilt = await pool.runTests({ program: ["true"], cases: [{}, {}], build: ["false"] });
    expect(unbuilt).toMatchObject({ build: { cause: "EXITED", exitCode: 1 }, results: [null, null] });
  });

  test("an abort ends them; those that had ended keep their results", async () => {
    const controller = new AbortController();
    const running = pool.runTests({
      program: sh('sleep "$(cat)"'),
      cases: [{ stdin: "0" }, { stdin: "60" }, { stdin: "0" }],
      limitsPerCase: { wallMs: 60_000 },
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(), 700);
    const { results } = await running;
    expect(results.map((one) => one?.cause)).toEqual(["EXITED", "CANCELLED", "CANCELLED"]);
    const never = await pool.runTests({ program: ["true"], cases: [{}], signal: AbortSignal.abort() });
    expect(never.results[0]?.cause).toBe("CANCELLED");
  });

  test("the daemon's death is INFRA for those that had not ended", async () => {
    const other = await SandboxPool.start();
    const running = other.runTests({
      program: sh('sleep "$(cat)"'),
      cases: [{ stdin: "0" }, { stdin: "60" }, { stdin: "0" }],
      limitsPerCase: { wallMs: 60_000 },
    });
    await new Promise((resolve) => setTimeout(resolve, 700));
    process.kill(other.daemonPid ?? 0, "SIGKILL");
    const { results } = await running;
    expect(results.map((one) => [one?.cause, one?.reason])).toEqual([
      ["EXITED", "exited with 0"],
      ["INFRA", "daemon_exited"],
      ["INFRA", "daemon_exited"],
    ]);
    await other.close();
  });

  test("mistakes reject", async () => {
    await expect(pool.runTests({ program: ["true"], cases: [{}], files: { "../x": "" } })).rejects.toMatchObject({
      code: "PRL_SANDBOX_REQUEST",
    });
  });
});

describe("code", () => {
  test("is judged in every installed language", async () => {
    const square = [
      { input: "3\n", output: "9" },
      { input: "12\n", output: "144\n" },
    ];
    const programs = {
      python: "n = int(input())\nprint(n * n)",
      javascript: "import { readFileSync } from 'node:fs'; const n = Number(readFileSync(0)); console.log(n * n);",
      shell: "read n; echo $((n * n))",
      c: '#include <stdio.h>\nint main(void) { int n; scanf("%d", &n); printf("%d\\n", n * n); }',
    } as const;
    for (const [language, code] of Object.entries(programs) as [keyof typeof programs, string][]) {
      const tool = { python: "python3", javascript: "node", shell: "sh", c: "gcc" }[language];
      const there = await pool.runOnce({ command: sh(`command -v ${tool}`) });
      if (there.exitCode !== 0) {
        process.stderr.write(`skipped: no ${tool} in the sandbox\n`);
        continue;
      }
      const judged = await pool.executeCode(code, square, { language });
      expect([language, judged.passed, judged.results[0]?.run?.stderr.toString()]).toEqual([language, true, ""]);
      expect(judged.latencyMs).toBeGreaterThan(0);
    }
  });

  test("that is wrong fails, that does not compile fails", async () => {
    const wrong = await pool.executeCode("print(int(input()) + 1)", [
      { input: "1", output: "2" },
      { input: "1", output: "3" },
      { input: "x", output: "" },
    ]);
    expect(wrong.results.map(({ passed }) => passed)).toEqual([true, false, false]);
    expect(wrong.passed).toBe(false);
    const broken = await pool.executeCode("int main(", [{ input: "", output: "" }], { language: "c" });
    expect(broken.passed).toBe(false);
    expect(broken.build?.exitCode).not.toBe(0);
  });
});
