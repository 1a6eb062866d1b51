import { expect, test } from "vitest";

import { Printed } from "../../../ts/inference/vllm/printed.ts";

/** As vLLM 0.32.0 printed it on a KV cache that was too small, in part. */
const START = [
  "(APIServer pid=1) WARNING 11-23 10:39:10 [system_utils.py:255] This can cause errors like `OSError: [Errno 24] Too many open files`. Consider",
  "(EngineCore pid=2) ERROR 11-23 10:39:25 [core.py:1510] Traceback (most recent call last):",
  "(EngineCore pid=2) ERROR 11-23 10:39:25 [core.py:1510] ValueError: No available memory for the cache blocks.",
  "ValueError: No available memory for the cache blocks.",
  ...Array.from({ length: 30 }, (_, i) => `  File "core.py", line ${i}`),
  "RuntimeError: Engine core initialization failed. See root cause above.",
  "",
].join("\n");

test("the exceptions, the first of them far above the end, and the last lines are kept", () => {
  const printed = new Printed();
  // Chunks end anywhere.
  for (let at = 0; at < START.length; at += 7) printed.push(START.slice(at, at + 7));
  const lines = printed.summary().split("\n");
  expect(lines.slice(0, 4)).toEqual([
    "Its errors:",
    "  ValueError: No available memory for the cache blocks.",
    "  RuntimeError: Engine core initialization failed. See root cause above.",
    "The end of what it printed:",
  ]);
  expect(lines).toHaveLength(4 + 15);
});

test("a wrong argument is an error too, and a program that printed nothing says so", () => {
  const printed = new Printed();
  expect(printed.summary()).toBe("The end of what it printed:\n  (nothing)");
  printed.push("main.py: error: unrecognized arguments: --nonsense\n");
  expect(printed.summary()).toContain("Its errors:\n  main.py: error: unrecognized arguments: --nonsense");
});

test("however much it prints, little is kept", () => {
  const printed = new Printed();
  for (let i = 0; i < 1_000; i++) printed.push(`a.b.SomeError: ${i}\n${"x".repeat(10_000)}`);
  expect(printed.summary().length).toBeLessThan(10_000);
  expect(printed.summary()).toContain("a.b.SomeError: 0");
});
