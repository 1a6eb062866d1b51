/** Plans against exhaustive enumeration: no shorter sequence of steps is accepted by the simulator. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { kitchenTiming } from "../../../../../ts/environments/catalogue/logic/planning/kitchen-timing.ts";
import { planning } from "../../../../../ts/environments/catalogue/logic/planning/index.ts";
import { sensingPlan, solveDevice } from "../../../../../ts/environments/catalogue/logic/planning/sensing-plan.ts";
import type { Level, Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const MOST_SEQUENCES = 30_000;
const INSTANCES = IS_LONG ? 200 : 12;

const MOVES = ["N", "E", "S", "W", "-"];

interface Planned {
  readonly plan: string[];
}
/** Every step that could be written, by row; a superset of those that are allowed. */
const ALPHABETS: Readonly<Record<string, (instance: never) => string[]>> = {
  "crate-pushing": () => ["U", "D", "L", "R"],
  "keyed-maze-route": ({ rooms }: { rooms: string[] }) => rooms,
  "invented-permutation-puzzle": ({ moves }: { moves: number[][] }) => ["P", "Q", "R", "S"].slice(0, moves.length),
  "parcel-logistics": ({ towns, from }: { towns: string[]; from: number[] }) => [
    ...towns.map((town) => `drive ${town}`),
    ...from.flatMap((_, parcel) => [`load P${parcel + 1}`, `unload P${parcel + 1}`]),
  ],
  "robots-without-collision": () => MOVES.flatMap((a) => MOVES.map((b) => `${a} ${b}`)),
  "ferry-constraints": ({ travellers }: { travellers: string[] }) => ["alone", ...travellers],
  "unseen-domain-plan": ({
    actions,
    objects: [a = "", b = ""],
  }: {
    actions: { name: string; parameters: number }[];
    objects: string[];
  }) =>
    actions.flatMap(({ name, parameters }) =>
      parameters === 1 ? [`${name} ${a}`, `${name} ${b}`] : [`${name} ${a} ${b}`, `${name} ${b} ${a}`],
    ),
};

function* instancesOf(row: Row, level: Level): Generator<object> {
  const rng = createRng(99);
  for (let count = 0; count < INSTANCES; count++) yield drawInstance(row, level, rng).instance;
}

function* sequences(alphabet: readonly string[], length: number): Generator<string[]> {
  if (length === 0) yield [];
  else for (const rest of sequences(alphabet, length - 1)) for (const step of alphabet) yield [...rest, step];
}

test.each(Object.entries(ALPHABETS))("%s: no shorter plan exists", (id, alphabetOf) => {
  const row = planning.rows.find((one) => one.id === id);
  if (row === undefined) throw new Error(`no row ${id}`);
  let tried = 0;
  for (const instance of instancesOf(row, 1)) {
    const { plan } = instance as Planned;
    const alphabet = alphabetOf(instance as never);
    expect(plan.every((step) => alphabet.includes(step))).toBe(true);
    for (let length = 1; length < plan.length; length++) {
      if (alphabet.length ** length > MOST_SEQUENCES) break;
      for (const steps of sequences(alphabet, length)) {
        tried += 1;
        if (row.score(instance, steps.join("\n")) !== 0) throw new Error(`${id}: ${steps.join(", ")} is shorter`);
      }
    }
  }
  expect(tried).toBeGreaterThan(50);
});

test("kitchen-timing: no assignment of starts ends earlier", () => {
  interface Kitchen {
    readonly jobs: { name: string; minutes: number }[];
    readonly best: number;
  }
  for (const instance of instancesOf(kitchenTiming, 1)) {
    const { jobs, best } = instance as Kitchen;
    const minutes = Array.from({ length: best }, (_, minute) => String(minute));
    // A schedule that ends one minute earlier would score more than 1.
    const earlier = jobs.map((job) => minutes.filter((minute) => Number(minute) + job.minutes < best));
    let found = 0;
    const place = (index: number, lines: string[]): void => {
      const job = jobs[index];
      if (job === undefined) found += Number(kitchenTiming.score(instance, lines.join("\n")) > 0);
      else for (const start of earlier[index] ?? []) place(index + 1, [...lines, `${job.name}: ${start}`]);
    };
    place(0, []);
    expect(found).toBe(0);
  }
});

test("sensing-plan: the least depth is that of plain recursion over all trees", () => {
  interface Device {
    tests: string[];
    remedies: string[];
    outcomes: number[][];
    mends: number[][];
  }
  /** Whether a tree of at most this depth works. */
  const works = ({ outcomes, mends, tests }: Device, faults: number[], depth: number): boolean => {
    if (mends.some((mended) => faults.every((fault) => mended.includes(fault)))) return true;
    if (depth === 0) return false;
    return tests.some((_, at) =>
      [0, 1, 2].every((reading) => {
        const part = faults.filter((fault) => outcomes[fault]?.[at] === reading);
        return part.length === 0 || works({ outcomes, mends, tests, remedies: [] }, part, depth - 1);
      }),
    );
  };
  for (const level of [1, 2, 3] as const) {
    for (const instance of instancesOf(sensingPlan, level)) {
      const device = instance as Device;
      const faults = device.outcomes.map((_, fault) => fault);
      const depth = [0, 1, 2, 3, 4, 5].find((most) => works(device, faults, most));
      expect(solveDevice(device)?.depth).toBe(depth);
    }
  }
});

test("unseen-domain-plan: every wording says that a step's objects differ", () => {
  const row = planning.rows.find(({ id }) => id === "unseen-domain-plan");
  const rng = createRng(3);
  for (const instance of row === undefined ? [] : instancesOf(row, 1))
    expect(row?.prompts.map((prompt) => /different/u.test(prompt(instance, rng)))).toEqual([true, true, true, true]);
});

test("keyed-maze-route: no key lies in the first room, which is not entered", () => {
  const row = planning.rows.find(({ id }) => id === "keyed-maze-route");
  for (const instance of row === undefined ? [] : instancesOf(row, 4)) {
    const { keys, start } = instance as { keys: number[]; start: number };
    expect(keys).not.toContain(start);
  }
});
