/** Interpreters in held sandboxes that keep their state. */

import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import { type Box, type Repl, SandboxPool } from "../../../ts/sandbox/index.ts";

let pool: SandboxPool;
let box: Box;
beforeAll(async () => {
  pool = await SandboxPool.start();
  box = await pool.create();
});
afterAll(async () => pool.close());

/** A REPL, or a skipped test where the daemon has none of this language: it is printed, so that the test does not look passed. */
async function start(context: TestContext, language: "python" | "node"): Promise<Repl> {
  try {
    return await box.repl(language);
  } catch (error) {
    if ((error as { code?: string }).code !== "PRL_SANDBOX_UNSUPPORTED") throw error;
    process.stderr.write(`skipped: ${String(error)}\n`);
    return context.skip(String(error));
  }
}

test("python keeps its state, gives values, and survives exceptions", async (context) => {
  const repl = await start(context, "python");
  expect(await repl.run("x = 20\nprint('set')")).toMatchObject({
    run: { cause: "EXITED", exitCode: 0, stdout: Buffer.from("set\n") },
    value: null,
    error: null,
    alive: true,
  });
  expect((await repl.run("x + 1")).value).toBe("21");
  const raised = await repl.run("1 / 0");
  expect(raised).toMatchObject({ run: { exitCode: 1 }, error: "ZeroDivisionError: division by zero", alive: true });
  expect((await repl.run("x")).value).toBe("20");
  const late = await repl.run("while True: pass", { timeoutMs: 500 });
  expect(late).toMatchObject({ run: { cause: "WALL_TIMEOUT" }, alive: false });
  expect((await box.exec(["true"])).cause).toBe("EXITED");
});

test("an abort ends it", async (context) => {
  const repl = await start(context, "python");
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 200);
  const { run, alive } = await repl.run("import time; time.sleep(60)", {
    signal: controller.signal,
    timeoutMs: 60_000,
  });
  expect(alive).toBe(false);
  expect(["CANCELLED", "SIGNALED"]).toContain(run.cause);
});

test("node keeps its state", async (context) => {
  const repl = await start(context, "node");
  await repl.run("globalThis.x = 20");
  expect((await repl.run("x + 1")).value).toBe("21");
});
