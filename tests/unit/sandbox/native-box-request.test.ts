import { describe, expect, test } from "vitest";
import { toNativeCreate, toNativeExec, toNativeStart } from "../../../ts/sandbox/box/native-box-request.ts";

const refusal = (call: () => unknown) => {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error("it was not refused");
};

describe("a box crossing the border", () => {
  test("leaves unset fields to the daemon", () => {
    expect(toNativeCreate({}, "b", null)).toMatchObject({
      id: "b",
      leaseMs: null,
      lifetimeMs: null,
      labels: {},
      network: { allow: null, forward: [] },
      runtime: "",
      image: "",
      fromSnapshot: "",
      files: [],
      minIsolation: "any",
      queueMs: null,
    });
  });

  test("says which services its caller connects to", () => {
    const forward = [{ listen: 80, to: "127.0.0.1:9", by: "caller" as const }];
    expect(toNativeCreate({ network: { forward } }, "b", null).network).toEqual({
      allow: null,
      forward: [{ listen: 80, to: "127.0.0.1:9", byCaller: true }],
    });
  });

  test("begins with a snapshot or its id", () => {
    const snapshot = { id: "s", bytes: 1, createdAt: new Date(0), labels: {} };
    expect(toNativeCreate({ from: snapshot }, "b", null).fromSnapshot).toBe("s");
    expect(toNativeCreate({ from: "s2", profile: "python", ttlMs: 5 }, "b", "full")).toMatchObject({
      fromSnapshot: "s2",
      runtime: "python",
      lifetimeMs: 5,
      minIsolation: "full",
    });
  });

  test.each([
    [{ ttl: 5 }, "ttl"],
    [{ ttlMs: 0 }, "ttlMs"],
    [{ leaseMs: 1.5 }, "leaseMs"],
    [{ labels: { a: 1 } }, "labels.a"],
  ])("refuses %j and names the key", (request, key) => {
    const error = refusal(() => toNativeCreate(request as object, "b", null));
    expect(error).toMatchObject({ code: "PRL_SANDBOX_REQUEST", message: expect.stringContaining(key) });
  });
});

describe("an exec crossing the border", () => {
  test("takes its time limit by either name", () => {
    expect(toNativeExec(["true"], { timeoutMs: 5 }, "k").limits.wallMs).toBe(5);
    expect(toNativeExec(["true"], { limits: { wallMs: 6, cpuMs: 7 } }, "k").limits).toMatchObject({
      wallMs: 6,
      cpuMs: 7,
    });
    expect(toNativeExec(["true"], {}, "k")).toMatchObject({
      key: "k",
      command: ["true"],
      user: "",
      cwd: "",
      runtime: "",
    });
  });

  test("keeps the input of a process open unless it is given whole", () => {
    expect(toNativeStart(["cat"], {}, "p", "k")).toMatchObject({ process: "p", keepStdin: true, pty: null });
    const whole = toNativeStart(["cat"], { stdin: "x", pty: true, lossless: true }, "p", "k");
    expect(whole).toMatchObject({ keepStdin: false, lossless: true, pty: { rows: 24, columns: 80 } });
    expect(toNativeStart(["sh"], { pty: { rows: 5, columns: 6 } }, "p", "k").pty).toEqual({ rows: 5, columns: 6 });
  });

  test.each([
    [() => toNativeExec([], {}, "k"), "command"],
    [() => toNativeExec(["true"], { user: "root" as "nobody" }, "k"), "user"],
    [() => toNativeExec(["true"], { timeoutMs: 1, limits: { wallMs: 1 } }, "k"), "timeoutMs"],
    [() => toNativeExec(["true"], { timeout: 1 } as object, "k"), "timeout"],
    [() => toNativeStart(["true"], { pty: { rows: 0, columns: 1 } }, "p", "k"), "pty.rows"],
  ])("a mistake is reported with its key", (call, key) => {
    expect(refusal(call)).toMatchObject({ code: "PRL_SANDBOX_REQUEST", message: expect.stringContaining(key) });
  });
});
