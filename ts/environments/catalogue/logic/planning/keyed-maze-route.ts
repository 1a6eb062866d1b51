/** keyed-maze-route: the shortest walk through rooms with locked doors, one-way passages and keys that lie about. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { PLAN_RULES, type PlanInstance, planRow } from "./plan-row.ts";
import { shortestPlan, type Step } from "./search.ts";

interface Passage {
  from: number;
  to: number;
  isOneWay: boolean;
  /** Colour of the key that opens it; null: it is open. */
  key: number | null;
}

interface Instance extends PlanInstance {
  rooms: string[];
  passages: Passage[];
  /** Room of each key. */
  keys: number[];
  start: number;
  goal: number;
}

type Maze = Pick<Instance, "rooms" | "passages" | "keys">;

const COLOURS = ["red", "blue", "green", "black", "white"];
/** By level: rooms, keys, least and most steps. */
const SIZES = [
  [6, 1, 3, 5],
  [9, 1, 5, 7],
  [13, 2, 7, 10],
  [20, 3, 10, 14],
  [30, 4, 14, 24],
] as const;
const MOST_STATES = 20_000;
/** Starts and goals that are tried in one maze. */
const PAIRS = 12;

export const keyedMazeRoute = planRow<Instance>({
  id: "keyed-maze-route",
  asks: "the shortest walk through rooms with locked doors, one-way passages and keys",
  make,
  prompts: [
    (one) =>
      `You stand in room ${roomOf(one, one.start)} and want to reach room ${roomOf(one, one.goal)}.\n\nPassages:\n${passageList(one)}\n\n${keyList(one)} You pick up a key by entering its room, you keep it, and it opens all doors of its colour.\n\nA step is the name of the room that you enter next. ${PLAN_RULES[0]}`,
    (one, rng) =>
      `A building has these connections, in no particular order:\n${passageList(one, rng)}\n\nLocked doors open only for a visitor who carries the key of the colour; keys are taken in passing and never used up. ${keyList(one)}\n\nWalk from ${roomOf(one, one.start)} to ${roomOf(one, one.goal)}. Name the rooms that you enter, without the first one. ${PLAN_RULES[1]}`,
    (one) =>
      `Find a route. Start: ${roomOf(one, one.start)}. Destination: ${roomOf(one, one.goal)}.\n${keyList(one)}\n\nMap:\n${passageList(one)}\n\nEntering a room with a key gives it to you from then on. A one-way passage cannot be walked back. Each step is a room next to the one before. ${PLAN_RULES[2]}`,
    (one, rng) =>
      `A courier has to get from ${roomOf(one, one.start)} to ${roomOf(one, one.goal)} through a house whose plan is\n${passageList(one, rng)}\n\nDoors with a colour stay shut until the courier has been in the room where the key of that colour lies. ${keyList(one)}\n\nWrite the rooms in the order in which they are entered; the starting room is not written. ${PLAN_RULES[3]}`,
  ],
  run(instance, steps, reached) {
    const { start, goal } = instance;
    let state: State = { room: start, keys: keysIn(instance, start) };
    for (const step of steps) {
      const next = [...moves(instance, state)].find(({ label }) => label.toLowerCase() === step.toLowerCase());
      if (next === undefined) return false;
      ({ state } = next);
      reached(state.room === goal);
    }
    return true;
  },
});

interface State {
  readonly room: number;
  /** One bit for each key. */
  readonly keys: number;
}

function make(rng: Rng, level: Level): Instance | null {
  const [count, keyCount, least, most] = at(SIZES, level - 1);
  const rooms = distinct(count, () => name(rng));
  const order = shuffled(range(count), rng);
  const tree = range(count - 1).map(
    (index) => [at(order, index + 1), at(order, Math.max(0, index - rng.integer(4)))] as const,
  );
  const more = range(Math.floor(count / 3)).map(() => [rng.integer(count), rng.integer(count)] as const);
  const pairs = new Map(
    [...tree, ...more]
      .filter(([a, b]) => a !== b)
      .map(([a, b]) => [Math.min(a, b) * count + Math.max(a, b), [a, b] as const]),
  );
  const passages = [...pairs.values()].map(([a, b]): Passage => ({
    ...(rng.integer(2) === 0 ? { from: a, to: b } : { from: b, to: a }),
    isOneWay: rng.integer(6) === 0,
    key: rng.integer(3) === 0 ? rng.integer(keyCount) : null,
  }));
  const keys = sample(range(count), keyCount, rng);
  const maze = { rooms, passages: shuffled(passages, rng), keys };
  const open = { ...maze, passages: passages.map((one) => ({ ...one, key: null })) };
  for (let pair = 0; pair < PAIRS; pair++) {
    const [start = 0, goal = 0] = sample(range(count), 2, rng);
    // Keys are taken by entering a room, and a walk does not enter its first one.
    if (keys.includes(start)) continue;
    const found = search(maze, start, goal);
    if (found === null || found.plan.length < least || found.plan.length > most) continue;
    // With every key in hand the way would be another one: the keys matter.
    const free = search(open, start, goal);
    if (free !== null && free.plan.length < found.plan.length) return { ...maze, start, goal, ...found };
  }
  return null;
}

function search(maze: Maze, start: number, goal: number) {
  return shortestPlan<State>(
    {
      start: { room: start, keys: keysIn(maze, start) },
      isGoal: ({ room }) => room === goal,
      next: (state) => moves(maze, state),
      key: ({ room, keys }) => room * 64 + keys,
    },
    MOST_STATES,
  );
}

function* moves(maze: Maze, { room, keys }: State): Generator<Step<State>> {
  for (const { from, to, isOneWay, key } of maze.passages) {
    const next = from === room ? to : to === room && !isOneWay ? from : null;
    if (next === null || (key !== null && (keys & (1 << key)) === 0)) continue;
    yield { label: at(maze.rooms, next), state: { room: next, keys: keys | keysIn(maze, next) } };
  }
}

function keysIn({ keys }: Maze, room: number): number {
  return keys.reduce((bits, place, key) => (place === room ? bits | (1 << key) : bits), 0);
}

function roomOf({ rooms }: Maze, index: number): string {
  return at(rooms, index);
}

function passageList(maze: Maze, rng?: Rng): string {
  const passages = rng === undefined ? maze.passages : shuffled(maze.passages, rng);
  return passages
    .map(({ from, to, isOneWay, key }) => {
      const door = key === null ? "" : `, ${at(COLOURS, key)} door`;
      return `- ${roomOf(maze, from)} ${isOneWay ? "->" : "-"} ${roomOf(maze, to)}${isOneWay ? " (one way)" : ""}${door}`;
    })
    .join("\n");
}

function keyList(maze: Maze): string {
  return maze.keys.map((room, key) => `The ${at(COLOURS, key)} key lies in ${roomOf(maze, room)}.`).join(" ");
}
