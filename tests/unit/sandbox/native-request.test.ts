import { describe, expect, test } from "vitest";
import { toNativeRequest, toNativeTests } from "../../../ts/sandbox/native-request.ts";
import type { RunRequest, TestsRequest } from "../../../ts/sandbox/index.ts";

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
  test("leaves unset fields to the daemon", () => {
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

  test("carries the network: nothing, hosts through the proxy, single services", () => {
    expect(of({ command: ["true"], network: "none" }).network).toEqual({ allow: null, forward: [] });
    expect(of({ command: ["true"], network: { allow: [] } }).network).toEqual({ allow: [], forward: [] });
    const forward = [{ listen: 5432, to: "db:5432" }];
    expect(of({ command: ["true"], network: { allow: ["*.example.org:443"], forward } }).network).toEqual({
      allow: ["*.example.org:443"],
      forward: [{ listen: 5432, to: "db:5432", byCaller: false }],
    });
    const own = forward.map((one) => ({ ...one, by: "daemon" as const }));
    expect(of({ command: ["true"], network: { forward: own } }).network).toEqual({
      allow: null,
      forward: [{ listen: 5432, to: "db:5432", byCaller: false }],
    });
  });

  test.each([
    ["all", "network"],
    [{ alow: [] }, "network.alow"],
    [{ allow: "example.org" }, "network.allow"],
    [{ forward: [{ listen: 0, to: "x:1" }] }, "network.forward[0].listen"],
    [{ forward: [{ listen: 70_000, to: "x:1" }] }, "network.forward[0].listen"],
    [{ forward: [{ listen: 80 }] }, "network.forward[0].to"],
    [{ forward: [{ listen: 80, to: "x:1", via: 1 }] }, "network.forward[0].via"],
    [{ forward: [{ listen: 80, to: "x:1", by: "me" }] }, "network.forward[0].by"],
    [{ forward: [{ listen: 80, to: "x:1", by: "caller" }] }, "network.forward[0].by"],
  ])("refuses the network %j and names the key", (network, key) => {
    expect(refusal({ command: ["true"], network })).toMatchObject({
      code: "PRL_SANDBOX_REQUEST",
      message: expect.stringContaining(key),
    });
  });
});

describe("tests crossing the border", () => {
  test("carry each case, with limits of their own for the build", () => {
    const native = toNativeTests(
      {
        program: ["./a.out", "-q"],
        cases: [{ stdin: "1" }, { args: ["x", ""] }],
        files: { "a.c": "int main;" },
        build: ["gcc", "a.c"],
        buildLimits: { wallMs: 9 },
        limitsPerCase: { wallMs: 7 },
      },
      "key-2",
      "rootless",
    );
    expect(native.cancel).toBe("key-2");
    expect(native.run).toMatchObject({ key: "", command: ["./a.out", "-q"], minIsolation: "rootless" });
    expect(native.run.limits.wallMs).toBe(7);
    expect(native.cases.map(({ stdin, args }) => [Buffer.from(stdin).toString(), args])).toEqual([
      ["1", []],
      ["", ["x", ""]],
    ]);
    expect(native).toMatchObject({ build: ["gcc", "a.c"], stopOnFailure: false });
    expect(native.buildLimits.wallMs).toBe(9);
  });

  test("promise that nothing runs twice under a key of the caller's alone", () => {
    const native = toNativeTests({ program: ["true"], cases: [{}], key: "mine" }, "mine", null);
    expect(native).toMatchObject({ cancel: "mine", run: { key: "mine" } });
  });

  test.each([
    [{ program: ["true"], cases: [] }, "cases"],
    [{ program: [], cases: [{}] }, "program"],
    [{ program: ["true"], cases: [{ input: "x" }] }, "cases[0].input"],
    [{ program: ["true"], cases: [{ args: ["a\0"] }] }, "cases[0].args"],
    [{ program: ["true"], cases: [{}], build: [] }, "build"],
    [{ program: ["true"], cases: [{}], limits: {} }, "limits"],
  ])("refuse %j and name the key", (request, key) => {
    const call = () => toNativeTests(request as unknown as TestsRequest, "k", null);
    expect(call).toThrow(
      expect.objectContaining({ code: "PRL_SANDBOX_REQUEST", message: expect.stringContaining(key) }),
    );
  });
});
