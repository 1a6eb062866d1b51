import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { aborted, onAbort } from "../../../ts/async/aborted.ts";

describe("onAbort", () => {
  test("calls once, at the abort or at once where it was before", () => {
    const controller = new AbortController();
    let calls = 0;
    onAbort(controller.signal, () => (calls += 1));
    expect(calls).toBe(0);
    controller.abort();
    expect(calls).toBe(1);
    onAbort(controller.signal, () => (calls += 1));
    expect(calls).toBe(2);
  });

  test("does not call after listening was stopped, and leaves no listener", () => {
    const controller = new AbortController();
    let calls = 0;
    // The same function twice: each listener is taken away alone.
    const act = (): void => void (calls += 1);
    const stop = onAbort(controller.signal, act);
    onAbort(controller.signal, act);
    stop();
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort();
    expect(calls).toBe(1);
    onAbort(undefined, act)();
    expect(calls).toBe(1);
  });
});

test("aborted resolves at the abort, and at once after it", async () => {
  const controller = new AbortController();
  let isOver = false;
  const waiting = aborted(controller.signal).then(() => (isOver = true));
  await Promise.resolve();
  expect(isOver).toBe(false);
  controller.abort();
  await waiting;
  await aborted(controller.signal);
});
