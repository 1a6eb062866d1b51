import { describe, expect, test } from "vitest";
import { toNativeRequest } from "../../../ts/sandbox/native-request.ts";
import type { RunRequest } from "../../../ts/sandbox/index.ts";

const of = (request: RunRequest) => toNativeRequest(request, "key-1", null);
const refusal = (request: unknown) => {
  try {
    of(request as RunRequest);
  } catch (error) {
    return error;
  }
  throw new Error("it was not refused");
};

describe("a request crossing the border", () => {
  test("leaves what is not given to the daemon", () => {
    const native = of({ command: ["true"] });
    expect(native).toMatchObject({
      key: "key-1",
      command: ["true"],
      files: [],
      collect: [],
      env: {},
      cwd: "",
      queueMs: null,
      minIsolation: "any",
      labels: {},
    });
    expect(native.stdin).toHaveLength(0);
    expect(Object.values(native.limits)).toEqual(Array.from({ length: 10 }, () => null));
  });

  test("sends text as UTF-8 and bytes as they are", () => {
    const bytes = Uint8Array.of(0, 255, 10);
    const native = of({
      command: ["cat"],
      stdin: "grün",
      files: { "a.txt": "é", "b.bin": bytes, "run.sh": { content: "exit", mode: 0o755 } },
    });
    expect([...native.stdin]).toEqual([...Buffer.from("grün")]);
    expect(native.files.map(({ path, content, mode }) => [path, [...content], mode])).toEqual([
      ["a.txt", [0xc3, 0xa9], 0],
      ["b.bin", [0, 255, 10], 0],
      ["run.sh", [...Buffer.from("exit")], 0o755],
    ]);
  });

  test("carries every limit and the stricter of the isolations that were asked for", () => {
    const limits = {
      wallMs: 1,
      cpuMs: 2,
      memoryBytes: 3,
      processes: 4,
      openFiles: 5,
      outputBytes: 6,
      outputKillBytes: 7,
      diskBytes: 8,
      inodes: 9,
      collectBytes: 10,
    };
    expect(of({ command: ["true"], limits }).limits).toEqual(limits);
    expect(toNativeRequest({ command: ["true"] }, "k", "rootless").minIsolation).toBe("rootless");
    expect(toNativeRequest({ command: ["true"], minIsolation: "full" }, "k", "process").minIsolation).toBe("full");
    expect(toNativeRequest({ command: ["true"], minIsolation: "process" }, "k", "full").minIsolation).toBe("full");
  });

  test.each([
    [{ command: [] }, "command"],
    [{ command: "ls -l" }, "command"],
    [{ command: ["a\0b"] }, "command"],
    [{ command: ["true"], limits: { wallMs: 0 } }, "limits.wallMs"],
    [{ command: ["true"], limits: { memoryBytes: 1.5 } }, "limits.memoryBytes"],
    [{ command: ["true"], limits: { memory: 1 } }, "limits.memory"],
    [{ command: ["true"], stdn: "x" }, "stdn"],
    [{ command: ["true"], stdin: 3 }, "stdin"],
    [{ command: ["true"], files: { a: 3 } }, "files"],
    [{ command: ["true"], files: { a: { content: "x", mode: 0o4755 } } }, "mode"],
    [{ command: ["true"], env: { A: 1 } }, "env.A"],
    [{ command: ["true"], queueMs: -1 }, "queueMs"],
    [{ command: ["true"], minIsolation: "vm" }, "minIsolation"],
  ])("refuses %j and names the key", (request, key) => {
    expect(refusal(request)).toMatchObject({ code: "PRL_SANDBOX_REQUEST", message: expect.stringContaining(key) });
  });

  test("refuses a network that is not implemented", () => {
    expect(refusal({ command: ["true"], network: { allow: ["example.org"] } })).toMatchObject({
      code: "PRL_SANDBOX_UNSUPPORTED",
    });
  });
});
