/** unlit-house: an unknown house with locked doors is explored with little oil, and a thing is brought out of it. */
import { z } from "zod";

import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, worldTool } from "../../row.ts";
import { call, recordName } from "../records.ts";

interface Door {
  a: number;
  b: number;
  /** Colour of its key; null: it is open. */
  key: string | null;
}

interface Instance {
  rooms: string[];
  doors: Door[];
  /** Room of each key by colour, and of the thing that is wanted. */
  keys: Record<string, number>;
  thing: string;
  thingRoom: number;
  /** Steps that the lamp lasts. */
  oil: number;
  walk: Call[];
}

interface World {
  readonly instance: Instance;
  room: number;
  oil: number;
  readonly held: Set<string>;
  readonly seen: Set<number>;
}

/** By level: rooms, keys. */
const SIZES = [
  [5, 1],
  [8, 1],
  [12, 2],
  [18, 3],
  [26, 4],
] as const;
const COLOURS = ["red", "blue", "green", "black"];
const THINGS = ["deed", "portrait", "ledger", "crown", "compass"];
/** The room in which the house is entered, and to which the thing is brought. */
const ENTRANCE = 0;
/** Oil beyond that of the gold script's walk, as a share of it. */
const SPARE = 0.15;

const tools = {
  look: worldTool<World, z.ZodObject>({
    description: "The room, its doors and the things in it",
    parameters: z.object({}),
    run: look,
  }),
  walk: worldTool({
    description:
      "Walks from room to room, one door after the other, and stops where that is not possible. Every door that is gone through costs a step of oil",
    parameters: z.object({ rooms: z.array(recordName).min(1).max(12) }),
    run: (world: World, { rooms }) => {
      for (const room of rooms) {
        const problem = enter(world, room);
        if (problem !== null) return { stopped: problem, ...look(world) };
      }
      return look(world);
    },
  }),
  take: worldTool({
    description: "Takes a thing or key that lies in the room",
    parameters: z.object({ thing: recordName }),
    run: (world: World, { thing }) => {
      if (!lying(world).includes(thing)) throw new Refusal(`there is no ${thing} here`);
      world.held.add(thing);
      return { held: [...world.held] };
    },
  }),
  leave: worldTool<World, z.ZodObject>({
    description: "Leaves the house by its entrance with everything that is held",
    parameters: z.object({}),
    run: (world) => {
      if (world.room !== ENTRANCE) throw new Refusal("only the entrance leads out of the house");
      world.held.add("outside");
      world.oil = 0;
      return "outside";
    },
  }),
};

export const unlitHouse = defineWorldRow<Instance, World>({
  id: "unlit-house",
  asks: "explore an unknown house with locked doors before the oil is used up, and bring a thing out of it",
  make,
  effort: ({ walk, rooms }) => walk.length + rooms.length,
  canonical: ({ rooms, doors, thingRoom }) => [rooms, doors, thingRoom],
  prompts: [
    ({ rooms, thing, oil }) =>
      `Fetch the ${thing} out of an old house and leave with it. You stand at the entrance, ${at(rooms, ENTRANCE)}. The house has ${rooms.length} rooms; you see only the one that you are in. Coloured doors need the key of their colour, which lies somewhere. The lamp lasts for ${oil} steps from room to room, and without light you cannot walk. Once outside you cannot go back.`,
    ({ rooms, thing, oil }) =>
      `Somewhere in ${rooms.length} dark rooms lies the ${thing}. Bring it out: take it, return to ${at(rooms, ENTRANCE)}, where you are now, and leave. Oil for ${oil} steps. Keys open all doors of their colour and can be carried together. Plan the exploration so that the way back remains.`,
    ({ rooms, thing, oil }) =>
      `Task: the ${thing} has to leave the house. You do not know the plan of it. Entrance and only exit: ${at(rooms, ENTRANCE)}. Rooms: ${rooms.length}. Each passage through a door costs one of ${oil} units of oil. Looking and taking cost nothing. Some doors are locked; their keys can be found behind other doors.`,
    ({ rooms, thing, oil }) =>
      `You have a lamp with ${oil} units of oil, one for each step between rooms, and enter a house of ${rooms.length} rooms at ${at(rooms, ENTRANCE)}. Find the ${thing}, bring it back to the entrance and leave with it. What you left behind, or leaving without it, earns nothing; doors of a colour stay shut without the key of that colour.`,
  ],
  tools,
  world: newWorld,
  gold: ({ walk }) => walk,
  slips: (instance) => {
    const { walk, thing } = instance;
    return {
      "stops at the entrance": walk.slice(0, -1),
      "leaves without the thing": walk.filter(({ args }) => args["thing"] !== thing),
      "takes no key": walk.filter(({ tool, args }) => tool !== "take" || args["thing"] === thing),
      "leaves at once": [call("leave"), ...walk],
      "turns back half of the way": [...walk.slice(0, Math.floor(walk.length / 2)), call("leave")],
    };
  },
  blankets: (instance) => ({
    "leaves at once": [call("look"), call("leave")],
    "takes it where it is not": [call("take", { thing: instance.thing }), call("leave")],
    "walks to and fro": range(20).map(() =>
      call("walk", { rooms: [at(instance.rooms, 1), at(instance.rooms, ENTRANCE)] }),
    ),
  }),
  grade: ({ thing }, { held }) => (held.has(thing) && held.has("outside") ? 1 : 0),
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, keyCount] = at(SIZES, level - 1);
  const rooms = distinct(count, () => `${name(rng)} room`);
  // Rooms join rooms before them, so every way from the entrance exists.
  const doors = range(count - 1).map((index): Door => ({
    a: index + 1,
    b: Math.max(0, index - rng.integer(4)),
    key: null,
  }));
  for (let more = 0; more < Math.floor(count / 5); more++) {
    const [a = 0, b = 1] = sample(range(count), 2, rng);
    if (!doors.some((door) => (door.a === a && door.b === b) || (door.a === b && door.b === a)))
      doors.push({ a, b, key: null });
  }
  const keys: Record<string, number> = {};
  for (const colour of COLOURS.slice(0, keyCount)) {
    keys[colour] = between(rng, 1, count - 1);
    for (const door of sample(doors, Math.max(1, Math.floor(count / 7)), rng)) door.key = colour;
  }
  const thing = rng.pick(THINGS);
  const draft = {
    rooms,
    doors: shuffled(doors, rng),
    keys,
    thing,
    thingRoom: between(rng, Math.floor(count / 2), count - 1),
  };
  const walk = explored({ ...draft, oil: Number.MAX_SAFE_INTEGER, walk: [] });
  const steps =
    walk?.reduce((sum, { args }) => sum + (Array.isArray(args["rooms"]) ? args["rooms"].length : 0), 0) ?? 0;
  // The thing lies behind a locked door.
  const isLocked = explored({ ...draft, keys: {}, oil: Number.MAX_SAFE_INTEGER, walk: [] }) === null;
  return walk === null || !isLocked || steps < count ? null : { ...draft, oil: Math.ceil(steps * (1 + SPARE)), walk };
}

function newWorld(instance: Instance): World {
  return { instance, room: ENTRANCE, oil: instance.oil, held: new Set(), seen: new Set([ENTRANCE]) };
}

/** The doors of a room with the room behind each. */
function doorsOf({ doors }: Instance, room: number): { to: number; key: string | null }[] {
  return doors.flatMap(({ a, b, key }) => (a === room ? [{ to: b, key }] : b === room ? [{ to: a, key }] : []));
}

function lying({ instance, room, held }: World): string[] {
  const keys = Object.entries(instance.keys).filter(([, place]) => place === room);
  const all = [...keys.map(([colour]) => `${colour} key`), ...(instance.thingRoom === room ? [instance.thing] : [])];
  return all.filter((thing) => !held.has(thing));
}

function look(world: World): object {
  const { instance, room, oil } = world;
  return {
    room: at(instance.rooms, room),
    doors: doorsOf(instance, room).map(({ to, key }) => ({ to: at(instance.rooms, to), door: key ?? "open" })),
    things: lying(world),
    oil,
  };
}

/** Goes through a door; the reason where that is not possible. */
function enter(world: World, wanted: string): string | null {
  const { instance, held } = world;
  const door = doorsOf(instance, world.room).find(({ to }) => at(instance.rooms, to) === wanted);
  if (door === undefined) return `there is no door to ${wanted}`;
  if (held.has("outside")) return "you are outside";
  if (door.key !== null && !held.has(`${door.key} key`)) return `the door is locked, it needs the ${door.key} key`;
  if (world.oil === 0) return "it is dark: no oil is left";
  world.oil -= 1;
  world.room = door.to;
  world.seen.add(door.to);
  return null;
}

/** Walks to the nearest room that was not seen yet until the thing is found, takes every key, and walks back. Null where that is impossible. */
function explored(instance: Instance): Call[] | null {
  const world = newWorld(instance);
  const calls: Call[] = [call("look")];
  const go = (isGoal: (room: number) => boolean): boolean => {
    const way = nearest(world, isGoal);
    if (way === null) return false;
    for (let from = 0; from < way.length; from += 12) {
      const rooms = way.slice(from, from + 12).map((room) => at(instance.rooms, room));
      for (const room of rooms) enter(world, room);
      calls.push(call("walk", { rooms }));
    }
    return true;
  };
  while (!world.held.has(instance.thing)) {
    if (!go((room) => !world.seen.has(room))) return null;
    for (const thing of lying(world)) {
      world.held.add(thing);
      calls.push(call("take", { thing }));
    }
  }
  if (world.room !== ENTRANCE) go((room) => room === ENTRANCE);
  return [...calls, call("leave")];
}

/** A shortest way through rooms that were seen, and the last one, by doors that can be opened. */
function nearest({ instance, room, held, seen }: World, isGoal: (room: number) => boolean): number[] | null {
  const known = new Set([room]);
  let reached: number[][] = [[]];
  while (reached.length > 0) {
    const next: number[][] = [];
    for (const way of reached) {
      const here = way.at(-1) ?? room;
      if (!seen.has(here)) continue;
      for (const { to, key } of doorsOf(instance, here)) {
        if (known.has(to) || (key !== null && !held.has(`${key} key`))) continue;
        known.add(to);
        if (isGoal(to)) return [...way, to];
        next.push([...way, to]);
      }
    }
    reached = next;
  }
  return null;
}
