import { describe, expect, it } from "vitest";

import { Slots } from "../../../ts/async/slots.ts";

/** A promise that is resolved from outside. */
function gateOf() {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve: () => resolve() };
}

const never = new AbortController().signal;

describe("Slots", () => {
  it("runs so many at once, the others in the order they came", async () => {
    const slots = new Slots(2);
    const started: number[] = [];
    const gates = Array.from({ length: 5 }, () => gateOf());
    const runs = gates.map(async ({ promise }, index) =>
      slots.run(never, async () => {
        started.push(index);
        await promise;
      }),
    );
    await Promise.resolve();
    expect(started).toEqual([0, 1]);
    for (const [index, gate] of gates.entries()) {
      gate.resolve();
      await runs[index];
    }
    expect(started).toEqual([0, 1, 2, 3, 4]);
    expect(slots.waiting).toBe(0);
  });

  it("frees the slot of work that fails and the place of one that gives up waiting", async () => {
    const slots = new Slots(1);
    await expect(slots.run(never, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
    const gate = gateOf();
    const first = slots.run(never, () => gate.promise);
    const abort = new AbortController();
    const second = slots.run(abort.signal, () => Promise.resolve("ran"));
    abort.abort(new Error("given up"));
    await expect(second).rejects.toThrow("given up");
    expect(slots.waiting).toBe(0);
    gate.resolve();
    await first;
    expect(await slots.run(never, () => Promise.resolve("next"))).toBe("next");
  });
});
