/** The choice of a server for a rollout: even, steady, and within bounds. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { chooseEngine } from "../../../../ts/orchestrator/engines/engine-choice.ts";

const idle = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `inference-${i}`, inFlight: 0 }));
const keys = (count: number) => Array.from({ length: count }, (_, i) => `math ${i}`);

describe("the engine of a task", () => {
  test.each([2, 8, 100])("is each of %d idle engines about as often", (count) => {
    const each = 400;
    const chosen = new Map<string, number>();
    for (const key of keys(each * count)) {
      const name = chooseEngine(key, idle(count))?.name ?? "";
      chosen.set(name, (chosen.get(name) ?? 0) + 1);
    }
    // Six standard deviations of a binomial count.
    for (const seen of chosen.values()) expect(Math.abs(seen - each)).toBeLessThan(6 * Math.sqrt(each));
    expect(chosen.size).toBe(count);
  });

  test("changes only for the tasks of an engine that has gone", () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 40 }), fc.nat(), fc.string(), (count, gone, key) => {
        const before = chooseEngine(key, idle(count));
        const left = idle(count).filter((_, i) => i !== gone % count);
        const after = chooseEngine(key, left);
        if (before?.name !== `inference-${gone % count}`) expect(after).toEqual(before);
        else expect(left).toContainEqual(after);
      }),
    );
  });

  test("has less than its bound of rollouts, and there is always one", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 200 }), { minLength: 2, maxLength: 60 }), fc.string(), (loads, key) => {
        const engines = loads.map((inFlight, i) => ({ name: `inference-${i}`, inFlight }));
        const chosen = chooseEngine(key, engines);
        const most = Math.max(16, Math.ceil((1.25 * (1 + loads.reduce((a, b) => a + b, 0))) / loads.length));
        expect(chosen?.inFlight).toBeLessThan(most);
      }),
    );
  });
});
