/** Suites in a sandbox: what they earn, and the parts that are reported. */
import { afterAll, describe, expect, test, vi } from "vitest";

import { repoIssueFix } from "../../../../../ts/environments/catalogue/code/repo-issue-fix/index.ts";
import { unitTestWriter } from "../../../../../ts/environments/catalogue/code/unit-test-writer/index.ts";
import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { asReply } from "../../../../../ts/environments/catalogue/reply-answer.ts";
import { type Earned, earnedByProgram } from "../../../../../ts/environments/catalogue/score-program.ts";
import { SandboxSource } from "../../../../../ts/environments/sandboxes/sandboxes.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { type RunResult, SandboxPool } from "../../../../../ts/sandbox/index.ts";

const sandboxes = new SandboxSource();
afterAll(async () => sandboxes.close());
const [row] = unitTestWriter.rows;
if (row === undefined) throw new Error("the family has no row");
const { instance } = drawInstance(row, 2, createRng(4));
const earned = (suite: string): Promise<Earned> =>
  earnedByProgram(row, instance, asReply(suite, "code"), { pool: () => sandboxes.pool() });

describe("unit-test-writer", () => {
  test("reports each kind of mutant and of right implementation", async () => {
    const { score, parts } = await earned(row.gold(instance));
    expect(score).toBe(1);
    expect(new Set(Object.values(parts))).toEqual(new Set([1]));
    expect(Object.keys(parts)).toEqual(expect.arrayContaining(["right", "right-odd", "common"]));
  });

  test("names a module that the sandbox's Python lacks, and runs no suite there", async () => {
    const stderr = Buffer.from("Traceback (most recent call last):\nModuleNotFoundError: No module named '_ctypes'\n");
    const lacking = Object.create(SandboxPool.prototype) as SandboxPool;
    const asked = vi.spyOn(lacking, "runOnce");
    asked.mockResolvedValue({ cause: "EXITED", exitCode: 1, stderr, reason: "" } as RunResult);
    const [issue] = repoIssueFix.rows;
    for (const one of issue === undefined ? [] : [row, issue]) {
      const { instance: drawn } = drawInstance(one, 1, createRng(4));
      const reply = asReply(one.gold(drawn), one.place);
      await expect(earnedByProgram(one, drawn, reply, { pool: async () => lacking })).rejects.toMatchObject({
        code: "PRL_VERIFY_UNSUPPORTED",
        message: expect.stringContaining("No module named '_ctypes'") as string,
      });
    }
    expect(asked).toHaveBeenCalledTimes(2);
  });

  test("runs no mutant once a right implementation is refused", async () => {
    const { score, parts } = await earned(`${row.gold(instance)}\n\ndef test_last():\n    assert False`);
    expect(score).toBe(0);
    expect(new Set(Object.values(parts))).toEqual(new Set([0]));
  });

  test("runs a suite where the text of the implementation is gone", async () => {
    const search = `def test_text():
    import sys
    found, frame = [], sys._getframe()
    while frame is not None:
        found.append(repr(frame.f_locals))
        frame = frame.f_back
    for word in ("def", "class"):
        assert not any(word + " NAME" in one for one in found)`;
    const name = /\b(?!test)[A-Za-z_]+(?=\()/u.exec(row.gold(instance).replaceAll(/^def .*$/gmu, ""))?.[0] ?? "";
    expect(name).not.toBe("");
    const { score } = await earned(`${row.gold(instance)}\n\n${search.replace("NAME", name)}`);
    expect(score).toBe(1);
  });

  test("runs a suite in a process without the code object of the implementation", async () => {
    const search = `def test_numbers():
    import gc
    codes = [getattr(one, "__code__", None) for one in gc.get_objects()]
    names = {code.co_filename for code in codes if code is not None}
    assert "suite.py" in names and "subject.py" not in names`;
    const { score } = await earned(`${row.gold(instance)}\n\n${search}`);
    expect(score).toBe(1);
  });

  test("runs a suite in a process without the text of the implementation in its memory, or in one that it can read", async () => {
    const name = /\b(?!test)[A-Za-z_]+(?=\()/u.exec(row.gold(instance).replaceAll(/^def .*$/gmu, ""))?.[0] ?? "";
    const search = `def test_memory():
    import os, re
    for process in ("self", os.getppid(), *range(1, 100)):
        try:
            with open(f"/proc/{process}/maps") as lines, open(f"/proc/{process}/mem", "rb", 0) as memory:
                for line in lines:
                    start, end = (int(part, 16) for part in line.split()[0].split("-"))
                    if "rw" in line and memory.seek(start) == start:
                        assert not re.search(rb"(?:[d]ef|[c]lass) ${name}\\b", memory.read(end - start))
        except (OSError, OverflowError):
            pass`;
    const { score } = await earned(`${row.gold(instance)}\n\n${search}`);
    expect(score).toBe(1);
  });

  test("gives nothing to a suite that counts the runs before it", async () => {
    const { instance: hard } = drawInstance(row, 5, createRng(4));
    // Processes of a sandbox are numbered from 1 on, and a run takes two of them.
    const suite = `import os\n\ndef test_place():\n    assert (os.getppid() if os.getppid() > 3 else os.getpid()) < 12`;
    const scores: number[] = [];
    // The order is drawn: three times the right ones would have to come first.
    for (let time = 0; time < 3; time++) {
      const { score } = await earnedByProgram(row, hard, asReply(suite, "code"), { pool: () => sandboxes.pool() });
      scores.push(score);
    }
    expect(Math.min(...scores)).toBe(0);
  });

  test("reports parts of a reply without a suite", async () => {
    const { score, parts } = await earnedByProgram(row, instance, "I do not know.", { pool: () => sandboxes.pool() });
    expect(score).toBe(0);
    expect(parts["right"]).toBe(0);
  });
});
