/** Programs in the real daemon, through everything between it and Node. */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SandboxPool, type RunResult } from "../../../ts/sandbox/index.ts";
import { unobservable } from "./support.ts";

let pool: SandboxPool;
beforeAll(async () => {
  pool = await SandboxPool.start();
});
afterAll(async () => pool.close());

const sh = (script: string) => ["sh", "-c", script];
const python = (code: string) => ["python3", "-c", code];
const text = (result: RunResult) => ({ out: result.stdout.toString(), err: result.stderr.toString() });

describe("a program that ends by itself", () => {
  test("prints, and exits with 0", async () => {
    const result = await pool.runOnce({ command: python("print(1)") });
    expect(result).toMatchObject({ cause: "EXITED", exitCode: 0, signal: null, stdoutGap: 0, limitsHit: [] });
    expect(text(result)).toEqual({ out: "1\n", err: "" });
    expect(result.timings.runMs).toBeGreaterThan(0);
  });

  test.each([1, 42, 124, 137, 143, 255])("exits with %d, and that is no kill of ours", async (code) => {
    expect(await pool.runOnce({ command: sh(`exit ${code}`) })).toMatchObject({ cause: "EXITED", exitCode: code });
  });

  test("dies of a signal that it sends itself", async () => {
    const result = await pool.runOnce({ command: sh("kill -SEGV $$") });
    expect(result).toMatchObject({ cause: "SIGNALED", exitCode: null, signal: "SIGSEGV" });
  });

  test("reads stdin, arguments and environment", async () => {
    const code = "import os,sys; print(sys.stdin.read().upper(), sys.argv[1], os.environ['NAME'], sep='|')";
    const command = [...python(code), "a b"];
    const result = await pool.runOnce({ command, stdin: "grün", env: { NAME: "x=y" } });
    expect(text(result).out).toBe("GRÜN|a b|x=y\n");
  });

  test("passes a megabyte through, byte for byte", async () => {
    const stdin = Buffer.from(Uint8Array.from({ length: 1_000_000 }, (_, i) => (i * 31) % 256));
    const result = await pool.runOnce({ command: ["cat"], stdin });
    expect(result.stdout.equals(stdin)).toBe(true);
  });

  test("does not read its stdin", async () => {
    const result = await pool.runOnce({ command: ["true"], stdin: Buffer.alloc(1_000_000) });
    expect(result).toMatchObject({ cause: "EXITED", exitCode: 0 });
  });

  test("finds its files and leaves files", async () => {
    const result = await pool.runOnce({
      command: sh("./run.sh && mkdir -p out/deep && cp in.bin out/deep/copy.bin && echo done > out/note.txt"),
      files: {
        "in.bin": Uint8Array.of(0, 1, 255),
        "run.sh": { content: "#!/bin/sh\ncat sub/name.txt\n", mode: 0o755 },
        "sub/name.txt": "from a file\n",
      },
      collect: ["out/**"],
    });
    expect(text(result)).toEqual({ out: "from a file\n", err: "" });
    expect(Object.keys(result.files).sort()).toEqual(["out/deep/copy.bin", "out/note.txt"]);
    expect([...(result.files["out/deep/copy.bin"] ?? [])]).toEqual([0, 1, 255]);
    expect(result.files["out/note.txt"]?.toString()).toBe("done\n");
  });

  test("sees no file or process of an earlier run", async () => {
    await pool.runOnce({ command: sh("echo secret > here; echo secret > /tmp/there") });
    const result = await pool.runOnce({ command: sh("ls -A . /tmp | grep -c -e here -e there") });
    expect(text(result).out).toBe("0\n");
  });
});

describe("a program over its limits", () => {
  test("is killed at its wall time, and its output so far is kept", async () => {
    const result = await pool.runOnce({ command: sh("echo before; sleep 30"), limits: { wallMs: 300 } });
    expect(result).toMatchObject({ cause: "WALL_TIMEOUT", exitCode: null });
    expect(result.limitsHit).toContain("wall");
    expect(text(result).out).toBe("before\n");
    expect(result.timings.runMs).toBeLessThan(10_000);
  });

  test("is killed at its CPU time", async (context) => {
    const skip = await unobservable(pool, "CPU_TIMEOUT");
    if (skip !== null) return context.skip(skip);
    const result = await pool.runOnce({ command: python("while True: pass"), limits: { cpuMs: 300, wallMs: 20_000 } });
    expect(result.cause).toBe("CPU_TIMEOUT");
  });

  test("is OOM when it touches more memory than it may", async (context) => {
    const skip = await unobservable(pool, "OOM");
    if (skip !== null) return context.skip(skip);
    const command = python("x = bytearray(400 << 20); print(len(x))");
    const result = await pool.runOnce({ command, limits: { memoryBytes: 64 << 20 } });
    expect(result).toMatchObject({ cause: "OOM", exitCode: null });
    expect(result.limitsHit).toContain("memory");
  });

  test("keeps the head and the tail of a long output and counts the gap", async () => {
    const command = python("import sys\nfor i in range(100000): sys.stdout.write('%06d\\n' % i)");
    const result = await pool.runOnce({ command, limits: { outputBytes: 1400 } });
    expect(result).toMatchObject({ cause: "EXITED", exitCode: 0 });
    expect(result.limitsHit).toContain("output");
    expect(result.stdout.length + result.stdoutGap).toBe(700_000);
    expect(result.stdout.length).toBeLessThanOrEqual(1400);
    const [head, tail] = [result.stdout.subarray(0, result.stdoutGapAt), result.stdout.subarray(result.stdoutGapAt)];
    expect(head.toString().startsWith("000000\n000001\n")).toBe(true);
    expect(tail.toString().endsWith("099998\n099999\n")).toBe(true);
    expect(result.stderrGap).toBe(0);
  });

  test("is killed when it floods its output", async () => {
    const limits = { outputBytes: 1000, outputKillBytes: 1 << 20 };
    const result = await pool.runOnce({ command: ["yes"], limits });
    expect(result.cause).toBe("OUTPUT_LIMIT");
    expect(result.stdout.length).toBeLessThanOrEqual(1000);
    expect(result.stdoutGap).toBeGreaterThan(0);
  });
});

describe("a mistake of the caller", () => {
  test.each([
    [{ command: ["true"], files: { "../escape": "x" } }],
    [{ command: ["true"], files: { "/absolute": "x" } }],
  ])("%j is refused, not run", async (request) => {
    await expect(pool.runOnce(request)).rejects.toMatchObject({ code: "PRL_SANDBOX_REQUEST" });
  });

  test("a missing program ends differently from one that failed", async () => {
    const result = await pool.runOnce({ command: ["no-such-program"] });
    expect([result.cause, result.exitCode]).not.toEqual(["EXITED", 0]);
  });
});

describe("the pool", () => {
  test("reports its capabilities and the default limits of runs", async () => {
    const capabilities = await pool.capabilities();
    expect(capabilities.isolation).not.toBeNull();
    expect(capabilities.facilities.length).toBeGreaterThan(3);
    expect(capabilities.defaultLimits).toMatchObject({ wallMs: 10_000, cpuMs: 10_000, processes: 64, openFiles: 256 });
    expect(capabilities.defaultLimits).toMatchObject({ memoryBytes: 512 << 20, diskBytes: 256 << 20, inodes: 10_000 });
  });

  test("judges programs by their output", async () => {
    const code = "n = int(input())\nprint(n * n)";
    const right = await pool.executeCode(code, [
      { input: "3\n", output: "9" },
      { input: "12\n", output: "144\n" },
    ]);
    expect(right.passed).toBe(true);
    expect(right.latencyMs).toBeGreaterThan(0);
    const wrong = await pool.executeCode(code, [
      { input: "3\n", output: "9" },
      { input: "3\n", output: "8" },
      { input: "x\n", output: "" },
    ]);
    expect(wrong.results.map(({ passed }) => passed)).toEqual([true, false, false]);
    expect(wrong.passed).toBe(false);
  });
});

test("a Node that waited runs one program, and says so", async () => {
  const nodes = await SandboxPool.start({ parked: 1, warm: { node: 1 } });
  onTestFinished(async () => nodes.close());
  const { facilities, runtimes } = await nodes.capabilities();
  const { available, detail } = facilities.find(({ name }) => name === "runtime.node") ?? {};
  if (available !== true) {
    // Only where boxes have no namespaces, or no node.
    expect(detail).toMatch(/namespaces|node|Node/);
    return;
  }
  expect(runtimes.find(({ name }) => name === "node")?.version).toMatch(/^v\d+\./);
  const files = { "main.mjs": "import { argv } from 'node:process'; console.log(await Promise.resolve(argv[2]))" };
  for (const [command, out] of [
    [["node", "-e", "console.log(6 * 7)"], "42\n"],
    [["node", "main.mjs", "x"], "x\n"],
  ] as const) {
    const [waited, executed] = await nodes.runMany([
      { command, files },
      { command, files, runtime: "exec" },
    ]);
    expect(waited).toMatchObject({ cause: "EXITED", exitCode: 0, runtime: "node" });
    expect(executed).toMatchObject({ cause: "EXITED", exitCode: 0, runtime: "exec" });
    expect([waited, executed].map((one) => one?.stdout.toString())).toEqual([out, out]);
  }
});
