import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";

import { atMost, untilAborted, withDeadline } from "../../../ts/async/deadline.ts";

const never = (): Promise<never> => new Promise(() => undefined);
const late = (): Error => new Error("late");

describe("withDeadline", () => {
  test("settles as the work does", async () => {
    await expect(withDeadline(Promise.resolve(1), 60_000, late)).resolves.toBe(1);
    await expect(withDeadline(Promise.reject(new Error("broken")), 60_000, late)).rejects.toThrow("broken");
  });

  test("rejects when the time is over, and a later rejection of the work harms nothing", async () => {
    const work = sleep(5).then(() => Promise.reject(new Error("too late to matter")));
    await expect(withDeadline(work, 1, late)).rejects.toThrow("late");
    await work.catch(() => undefined);
  });
});

test("atMost settles as the work does, and gives nothing when the time is over", async () => {
  await expect(atMost(Promise.resolve(1), 60_000)).resolves.toBe(1);
  await expect(atMost(Promise.reject(new Error("broken")), 60_000)).rejects.toThrow("broken");
  await expect(atMost(never(), 1)).resolves.toBeUndefined();
});

describe("untilAborted", () => {
  test("settles as the work does", async () => {
    const { signal } = new AbortController();
    await expect(untilAborted(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(untilAborted(Promise.reject(new Error("broken")), signal)).rejects.toThrow("broken");
  });

  test("rejects with the reason, at once where it is aborted already", async () => {
    const controller = new AbortController();
    const waiting = untilAborted(never(), controller.signal);
    controller.abort(new Error("stop"));
    await expect(waiting).rejects.toThrow("stop");
    await expect(untilAborted(Promise.resolve(1), controller.signal)).rejects.toThrow("stop");
  });

  test("does not call a function where it is aborted already, and makes an error of any reason", async () => {
    const controller = new AbortController();
    controller.abort("SIGINT");
    let calls = 0;
    const work = async (): Promise<number> => (calls += 1);
    await expect(untilAborted(work, controller.signal)).rejects.toEqual(new Error("SIGINT"));
    expect(calls).toBe(0);
    await expect(untilAborted(work, new AbortController().signal)).resolves.toBe(1);
  });
});
