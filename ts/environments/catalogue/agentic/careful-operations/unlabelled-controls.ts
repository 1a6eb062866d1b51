/** unlabelled-controls: find out by trying what nameless controls do, then reach a setting within a number of presses. */
import { z } from "zod";

import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineWorldRow, type Level, Refusal, type Script, type WorldTool, worldTool } from "../../row.ts";
import { call } from "../records.ts";

/** One effect on the dials. */
type Effect =
  | { kind: "turn"; dial: number; by: number }
  | { kind: "swap"; dial: number; other: number }
  | { kind: "add"; dial: number; other: number }
  | { kind: "rotate" };

interface Instance {
  start: number[];
  target: number[];
  effects: Effect[];
  /** A shortest plan, as numbers of controls. */
  plan: number[];
  presses: number;
  /** Settings that the search has seen. */
  searched: number;
}

interface World {
  readonly instance: Instance;
  dials: number[];
  pressed: number;
}

const POSITIONS = 10;
/** By level: controls, dials, presses of a shortest plan. */
const SIZES = [
  [3, 3, 2],
  [4, 3, 3],
  [5, 4, 4],
  [7, 4, 5],
  [9, 5, 6],
] as const;
const MOST_SETTINGS = 20_000;
const CONTROLS = range(9).map((index) => `f${index + 1}`);

function press(index: number): WorldTool<World> {
  return worldTool<World, z.ZodObject>({
    description: "Presses a control",
    parameters: z.object({}),
    run: (world) => {
      const effect = world.instance.effects[index];
      if (effect === undefined) throw new Refusal("this control is not connected");
      if (world.pressed >= world.instance.presses) throw new Refusal("no presses are left");
      world.dials = after(world.dials, effect);
      world.pressed += 1;
      return { dials: world.dials, presses_left: world.instance.presses - world.pressed };
    },
  });
}

export const unlabelledControls = defineWorldRow<Instance, World>({
  id: "unlabelled-controls",
  asks: "find out by trying what nameless controls do, then bring dials to a setting within a number of presses",
  make,
  effort: ({ searched, effects }) => searched + effects.length,
  canonical: ({ start, target, effects }) => [start, target, effects],
  prompts: [
    ({ start, target, presses }) =>
      `A console has ${start.length} dials with positions 0 to 9; they stand at ${show(start)}. Its controls have no labels: each changes the dials in a fixed way that you can only find out by pressing it. Bring the dials to exactly ${show(target)}.\n\nAll presses together, trials too, may be at most ${presses}. The tool reset brings the dials back to the beginning and costs no press, but it does not give presses back.`,
    ({ start, target, presses }) =>
      `Goal: dials at ${show(target)}. Now: ${show(start)}. The tools f1, f2, ... are controls of unknown effect; the effect of each never changes, and may depend on where the dials stand. Positions run from 0 to 9 and around. You have ${presses} presses in all, and reset (free of charge) returns to the beginning.`,
    ({ start, target, presses }) =>
      `You have got a machine without a manual. ${start.length} dials show ${show(start)} and have to show ${show(target)} when you stop. Explore the controls f1 and so on, work out their rules, and plan. After ${presses} presses the machine locks; resets are unlimited and do not count.`,
    ({ start, target, presses }) =>
      `Leave the dials of this device at ${show(target)}. They begin at ${show(start)}, and count modulo 10. Every control performs one hidden operation on them. No more than ${presses} presses are possible before the device refuses, including those for finding out. With reset you may start over from the first position.`,
  ],
  tools: {
    look: worldTool<World, z.ZodObject>({
      description: "The dials now",
      parameters: z.object({}),
      run: ({ dials, pressed, instance }) => ({ dials, presses_left: instance.presses - pressed }),
    }),
    reset: worldTool<World, z.ZodObject>({
      description: "Brings the dials back to the beginning",
      parameters: z.object({}),
      run: (world) => {
        world.dials = [...world.instance.start];
        return { dials: world.dials, presses_left: world.instance.presses - world.pressed };
      },
    }),
    ...Object.fromEntries(CONTROLS.map((name, index) => [name, press(index)])),
  },
  offered: ({ effects }) => ["look", "reset", ...CONTROLS.slice(0, effects.length)],
  world: (instance) => ({ instance, dials: [...instance.start], pressed: 0 }),
  gold: (instance) => [...explored(instance), ...pressesOf(instance.plan)],
  slips: (instance) => ({
    "explored and not reset": [...explored(instance).slice(0, -1), ...pressesOf(instance.plan)],
    "a press too many": [...explored(instance), ...pressesOf(instance.plan), call("f1")],
    "the plan in the opposite order, and once more": [
      ...pressesOf([...instance.plan.toReversed(), ...instance.plan]),
      call("f2"),
    ],
    "all presses used up": range(instance.presses + 2).map(() => call("f1")),
  }),
  blankets: ({ presses: most, effects }) => ({
    "one control for ever": range(most).map(() => call("f1")),
    "each control once": pressesOf(range(effects.length)),
    "each control twice": pressesOf(range(2 * effects.length).map((index) => Math.floor(index / 2))),
  }),
  grade: ({ target }, { dials }) => (show(dials) === show(target) ? 1 : 0),
});

function make(rng: Rng, level: Level): Instance | null {
  const [controls, dials, length] = at(SIZES, level - 1);
  const start = range(dials).map(() => rng.integer(POSITIONS));
  const effects = shuffled(
    range(controls).map((index) => drawEffect(rng, dials, index)),
    rng,
  );
  if (new Set(effects.map((effect) => JSON.stringify(effect))).size < controls) return null;
  const found = search(start, effects, length);
  if (found === null) return null;
  const target = rng.pick(found.farthest);
  const instance = { start, effects, searched: found.searched, presses: 2 * controls + length + 2, ...target };
  const scored = (script: readonly number[]): boolean => show(run(start, effects, script)) === show(target.target);
  const { plan } = target;
  // Lazy scripts must not arrive by chance, and the order of the plan must matter.
  const lazy = [
    range(controls),
    range(2 * controls).map((index) => Math.floor(index / 2)),
    range(instance.presses).map(() => 0),
    [...plan, 0],
    [...plan.toReversed(), ...plan, 1],
    [...range(controls).slice(-1), ...plan],
  ];
  return lazy.some(scored) ? null : instance;
}

/** The first kinds are those that no plan of any level can do without. */
function drawEffect(rng: Rng, dials: number, index: number): Effect {
  const [dial = 0, other = 1] = sample(range(dials), 2, rng);
  const kind = index < 2 ? at(["turn", "add"] as const, index) : rng.pick(["turn", "swap", "add", "rotate"] as const);
  if (kind === "rotate") return { kind };
  return kind === "turn" ? { kind, dial, by: between(rng, 1, POSITIONS - 1) } : { kind, dial, other };
}

function after(dials: readonly number[], effect: Effect): number[] {
  const next = [...dials];
  if (effect.kind === "rotate") return [...next.slice(1), at(next, 0)];
  const { dial } = effect;
  if (effect.kind === "turn") next[dial] = (at(next, dial) + effect.by) % POSITIONS;
  else if (effect.kind === "add") next[dial] = (at(next, dial) + at(next, effect.other)) % POSITIONS;
  else [next[dial], next[effect.other]] = [at(dials, effect.other), at(dials, dial)];
  return next;
}

function run(start: readonly number[], effects: readonly Effect[], plan: readonly number[]): number[] {
  return plan.reduce((dials, index) => after(dials, at(effects, index)), [...start]);
}

/** The settings that need exactly `length` presses, each with a shortest plan. */
function search(start: readonly number[], effects: readonly Effect[], length: number) {
  const seen = new Set([show(start)]);
  let reached = [{ target: [...start], plan: [] as number[] }];
  for (let depth = 0; depth < length; depth++) {
    const next: typeof reached = [];
    for (const { target, plan } of reached) {
      for (const [index, effect] of effects.entries()) {
        const dials = after(target, effect);
        if (seen.has(show(dials))) continue;
        seen.add(show(dials));
        if (seen.size > MOST_SETTINGS) return null;
        next.push({ target: dials, plan: [...plan, index] });
      }
    }
    reached = next;
  }
  return reached.length === 0 ? null : { farthest: reached, searched: seen.size };
}

function explored({ effects }: Instance): Script {
  return effects.flatMap((_, index) => [call(at(CONTROLS, index)), call("reset")]);
}

function pressesOf(plan: readonly number[]): Script {
  return plan.map((index) => call(at(CONTROLS, index)));
}

function show(dials: readonly number[]): string {
  return dials.join(" ");
}
