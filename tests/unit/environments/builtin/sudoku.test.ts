import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { groupsOf, type Kind, KINDS, type Size, SIZES } from "../../../../ts/environments/builtin/sudoku/groups.ts";
import { judge, readGrid } from "../../../../ts/environments/builtin/sudoku/index.ts";
import { makeGrid, makePuzzle, solve, toRows } from "../../../../ts/environments/builtin/sudoku/puzzle.ts";
import { createRng, loadEnvironment } from "../../../../ts/environments/index.ts";

const SHAPES = SIZES.flatMap((size) => KINDS.map((kind) => ({ size, kind })));

function puzzleOf(size: Size, kind: Kind, blanks: number, seed: number) {
  const rng = createRng(seed);
  return makePuzzle(makeGrid(size, kind, rng), { size, kind, blanks }, rng);
}

describe.each(SHAPES)("puzzles of size $size, $kind", ({ size, kind }) => {
  it("have exactly one solution, which fills every group and keeps the givens", () => {
    fc.assert(
      fc.property(fc.nat(), fc.double({ min: 0, max: 0.7, noNaN: true }), (seed, blanks) => {
        const { givens, solution } = puzzleOf(size, kind, blanks, seed);
        const groups = groupsOf(size, kind);
        expect(solve(givens, { groups, size }, 2)).toEqual([solution]);
        for (const group of groups) expect(new Set(group.map((cell) => solution[cell])).size).toBe(size);
        givens.forEach((given, cell) => expect([0, solution[cell]]).toContain(given));
        expect(givens.filter((given) => given === 0).length).toBeLessThanOrEqual(Math.round(blanks * size * size));
      }),
      { numRuns: size === 9 ? 8 : 30 },
    );
  });

  it("follow from the seed, and have groups of as many cells", () => {
    const make = (seed: number) => puzzleOf(size, kind, 0.5, seed);
    expect(make(1)).toEqual(make(1));
    expect(make(1)).not.toEqual(make(2));
    for (const group of groupsOf(size, kind)) expect(new Set(group).size).toBe(size);
  });
});

describe("solve", () => {
  const groups = groupsOf(4, "sudoku");
  it("counts the 288 grids of size 4 and knows contradictions", () => {
    expect(solve(Array(16).fill(0), { groups, size: 4 }, 1000)).toHaveLength(288);
    expect(solve([1, 1, ...Array<number>(14).fill(0)], { groups, size: 4 }, 2)).toEqual([]);
  });
});

describe("a reply", () => {
  const task = {
    size: 4,
    kind: "sudoku",
    givens: ["1.3.", "3.1.", "2.4.", "4.2."],
    solution: ["1234", "3412", "2143", "4321"],
  } as const;
  const row = { ...task, givens: [...task.givens], solution: [...task.solution] };

  it.each([
    ["1234\n3412\n2143\n4321", { solved: true, cells: 1, keepsGivens: true, groups: 1 }],
    ["Here:\n| 1 2 | 3 4 |\n| 3 4 | 1 2 |\n|-----+-----|\n| 2 1 | 4 3 |\n| 4 3 | 2 1 |\nDone.", { solved: true }],
    ["1111\n1111\n1111\n1111\n\n1234\n3412\n2143\n4321", { solved: true }],
    ["<think>1234\n3412\n2143\n4321</think>no", { solved: false, cells: 0 }],
    ["1134\n3411\n2143\n4321", { solved: false, cells: 0.75, keepsGivens: true, groups: 6 / 12 }],
    ["2134\n3412\n2143\n4321", { solved: false, keepsGivens: false }],
    ["1.3.\n3.1.\n2.4.\n4.2.", { solved: false, cells: 0, keepsGivens: true, groups: 2 / 12 }],
    ["123\n341\n214\n432", { solved: false, cells: 0, keepsGivens: false }],
  ])("%j", (reply, verdict) => {
    expect(judge(row, reply)).toMatchObject(verdict);
  });

  it("earns part of the reward when that is asked for", async () => {
    const environment = (await loadEnvironment("sudoku")).configure({ size: 4, partialCredit: 0.4 });
    const { tasks } = await environment.tasks("train", 1).page(null, 20);
    for (const { data, ...rest } of tasks) {
      const { givens } = data as { givens: string[] };
      const own = { data, ...rest };
      expect((await environment.score(own, givens.join("\n"))).reward).toBe(0);
      const ones = givens.join("\n").replaceAll(".", "1");
      const { reward } = await environment.score(own, ones);
      expect(reward).toBeLessThanOrEqual(0.4);
    }
  });

  it("is read back from the rows that were written", () => {
    fc.assert(
      fc.property(fc.constantFrom(...SIZES), fc.nat(), (size, seed) => {
        const solution = makeGrid(size, "latin", createRng(seed));
        expect(readGrid(`So:\n${toRows(solution, size).join("\n")}\n`, size)).toEqual(toRows(solution, size));
      }),
    );
  });
});
