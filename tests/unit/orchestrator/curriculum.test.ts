import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { curriculumBlock, curriculumProblem } from "../../../ts/config/schema/orchestrator/curriculum.ts";
import { DrawnTasks } from "../../../ts/orchestrator/curriculum/drawn-tasks.ts";
import { taskWeight } from "../../../ts/orchestrator/curriculum/task-weights.ts";
import { WeightedDraw } from "../../../ts/orchestrator/curriculum/weighted-draw.ts";

const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const weight = fc.oneof(fc.constant(0), fc.double({ min: 1e-3, max: 100, noNaN: true }));

describe("WeightedDraw", () => {
  test("draws the same task as a walk along the weights, after any changes", () => {
    const change = fc.record({ item: fc.nat(), weight });
    fc.assert(
      fc.property(fc.array(weight, { minLength: 1, maxLength: 40 }), fc.array(change), share, (start, changes, at) => {
        const weights = Float64Array.from(start);
        const draw = new WeightedDraw(weights);
        for (const { item, weight: changed } of changes) {
          weights[item % weights.length] = changed;
          draw.set(item % weights.length, changed);
        }
        const total = weights.reduce((sum, own) => sum + own, 0);
        const found = draw.draw(at);
        if (total === 0) return found === -1;
        // Rounding may move a draw that falls onto a border to the neighbour.
        const before = weights.subarray(0, found).reduce((sum, own) => sum + own, 0);
        const slack = 1e-9 * Math.max(1, total);
        expect(weights[found]).toBeGreaterThan(0);
        expect(at * total).toBeGreaterThan(before - slack);
        expect(at * total).toBeLessThan(before + (weights[found] ?? 0) + slack);
      }),
    );
  });

  test("draws in proportion to the weights", () => {
    const draw = new WeightedDraw(Float64Array.of(1, 0, 3));
    const drawn = Array.from({ length: 400 }, (_, i) => draw.draw((i + 0.5) / 400));
    expect([0, 1, 2].map((item) => drawn.filter((found) => found === item).length)).toEqual([100, 0, 300]);
  });
});

describe("weights of tasks", () => {
  test("pools by mean reward, a task never tried weighs 1", () => {
    const weigh = taskWeight(curriculumBlock.parse({ sampler: { type: "difficulty_pool" } }).sampler);
    expect([undefined, 0, 0.25, 0.3, 0.75, 0.9, 7].map(weigh)).toEqual([1, 0.2, 0.2, 1, 1, 0.2, 0.2]);
  });

  test("learnability is p(1-p), never below its floor", () => {
    const weigh = taskWeight(curriculumBlock.parse({ sampler: { type: "learnability", floor: 0.02 } }).sampler);
    expect([undefined, 0.5, 0.1, 0, 1, -3, 2].map(weigh)).toEqual([
      0.25, 0.25, 0.09000000000000001, 0.02, 0.02, 0.02, 0.02,
    ]);
  });

  test("pools that could draw nothing are refused", () => {
    const pools = (...weights: number[]) =>
      curriculumBlock.parse({
        sampler: { pools: weights.map((own, i) => ({ name: `${i}`, max_reward: i / 4, weight: own })) },
      });
    expect(curriculumProblem(pools(0, 0))).toMatch(/weight 0/);
    expect(curriculumProblem(pools(0, 1))).toBeNull();
    const unordered = { pools: [1, 0.5].map((max_reward) => ({ name: "a", max_reward, weight: 1 })) };
    expect(curriculumProblem(curriculumBlock.parse({ sampler: unordered }))).toMatch(/ascending/);
  });
});

describe("DrawnTasks", () => {
  const tasks = Array.from({ length: 9 }, (_, i) => ({ key: `t${i}`, hash: "", data: i }));
  const learnability = taskWeight(curriculumBlock.parse({ sampler: { type: "learnability" } }).sampler);
  const shareOf = (draw: number) => (draw * 0.618034) % 1;

  test("goes on from its state as if it had never stopped, each draw of a task in its own epoch", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 60 }),
        fc.nat(),
        (means, at) => {
          const whole = new DrawnTasks(tasks, learnability, shareOf);
          let resumed = new DrawnTasks(tasks, learnability, shareOf);
          const seen = new Set<string>();
          for (const [i, mean] of means.entries()) {
            if (i === at % means.length) {
              resumed = new DrawnTasks(tasks, learnability, shareOf, JSON.parse(JSON.stringify(resumed.state)));
            }
            const { task, epoch } = whole.next();
            expect(resumed.next()).toEqual({ task, epoch });
            expect(seen.has(`${task.key} ${epoch}`)).toBe(false);
            seen.add(`${task.key} ${epoch}`);
            for (const drawn of [whole, resumed]) drawn.observe(task.key, mean);
          }
        },
      ),
    );
  });
});
