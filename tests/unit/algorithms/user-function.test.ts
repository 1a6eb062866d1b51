/** Functions of the user's that never end, throw, or are none. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInThisContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { UserFunction } from "../../../ts/algorithms/user-function.ts";
import { simulate } from "../orchestrator/simulation.ts";

let root: string;
let path: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-own-function-"));
  path = join(root, "mine.ts");
  await writeFile(
    path,
    `export const endless = () => { for (;;) { try { for (;;); } catch {} } };
     export const thrower = () => { throw new Error("never mind"); };
     export const later = async () => "keep";
     export const number = 1;`,
  );
});
afterAll(() => rm(root, { recursive: true }));

describe("a custom function", () => {
  test.each<[string, () => unknown]>([
    [
      "a loop that catches everything",
      () => {
        for (;;) {
          try {
            for (;;);
          } catch {
            /* again */
          }
        }
      },
    ],
    ["a wait that never ends", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)],
    ["a pattern that explodes", () => /^(a+)+$/u.test(`${"a".repeat(60)}b`)],
  ])("is stopped at its deadline in %s, and the next one is asked as if nothing had been", (_, compute) => {
    const stopped = expect.objectContaining({
      code: "PRL_USER_DEADLINE",
      message: expect.stringContaining("./a.ts: group 1: it did not return within 0.05 s") as string,
    }) as Error;
    expect(() => new UserFunction("./a.ts", compute, 0.05).call("group 1")).toThrow(stopped);
    const sum = new UserFunction("./a.ts", (a: number, b: number) => a + b);
    expect(sum.call("two numbers", 1, 2)).toBe(3);
  });

  test("that throws its own deadline error gets that error reported", () => {
    const own = new UserFunction("./a.ts", () => runInThisContext("for (;;);", { timeout: 10 }));
    expect(() => own.call("group 1")).toThrow(
      expect.objectContaining({
        code: "PRL_USER_MODULE",
        cause: expect.objectContaining({ code: "ERR_SCRIPT_EXECUTION_TIMEOUT" }) as Error,
      }) as Error,
    );
  });

  test("that is no function is refused with the expected type", async () => {
    await expect(UserFunction.load(`${path}#number`, "a filter is a function", null)).rejects.toMatchObject({
      code: "PRL_USER_MODULE",
      message: expect.stringContaining("a filter is a function") as string,
    });
  });
});

describe("a run ends by the name of its", () => {
  const run = (options: object) => simulate({ level: 1, maxSteps: 2, ...options });
  const custom = (name: string) => ({ type: "custom", path: `${path}#${name}`, deadline_s: 0.1 });
  test.each([
    ["endless", "PRL_USER_DEADLINE", "#endless: group"],
    ["thrower", "PRL_USER_MODULE", "never mind"],
    ["later", "PRL_ADVANTAGE_INPUT", "no list"],
  ])("advantages: %s", async (name, code, text) => {
    const message = expect.stringContaining(text) as string;
    await expect(run({ algo: custom(name) })).rejects.toMatchObject({ code, message });
  });

  test.each([
    ["endless", "PRL_USER_DEADLINE", "#endless: a trace"],
    ["thrower", "PRL_USER_MODULE", "never mind"],
    ["later", "PRL_USER_MODULE", 'not "keep" or a reason'],
  ])("filter: %s", async (name, code, text) => {
    const message = expect.stringContaining(text) as string;
    await expect(run({ filters: [custom(name)] })).rejects.toMatchObject({ code, message });
  });
});
