/** deadlock-schedule: a schedule of threads with locks after which none of the waiting threads can go on. */
import { firstDrawn, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";

interface Step {
  do: "lock" | "unlock" | "work";
  lock: string;
}
interface Instance {
  threads: Step[][];
  schedule: number[];
  states: number;
}

/** By level: threads, locks, nested locks of a thread, further steps, least length of the gold schedule. */
const SIZES = [
  [2, 2, 2, 1, 2],
  [2, 3, 2, 3, 4],
  [3, 3, 2, 3, 5],
  [3, 4, 3, 4, 7],
  [4, 5, 3, 5, 9],
] as const;
const TRIES = 80;
const RANDOM = 60;
const MOST_STATES = 20_000;

export const deadlockSchedule = defineRow<Instance>({
  id: "deadlock-schedule",
  asks: "a schedule that leads threads with locks into a deadlock",
  place: "answer",
  make: (rng, level) => firstDrawn(TRIES, () => draw(rng, level)),
  effort: ({ states }) => states,
  canonical: ({ threads }) => threads,
  prompts: [
    ({ threads }) =>
      `${text(threads)}\n\nA thread that wants a lock which another one holds waits. Give a schedule after which no thread can take a step although not all have ended. ${FORMAT}`,
    ({ threads }) =>
      `Show that this program can hang:\n\n${text(threads)}\n\nLocks are held by one thread at a time and are not taken twice. Find a sequence of steps into a deadlock: every thread has ended or wants a lock that is held, and at least one has not ended. ${FORMAT}`,
    ({ threads }) =>
      `Drive these threads into a state in which all that are not finished are blocked.\n\n${text(threads)}\n\n${FORMAT} A step that must wait cannot be in the schedule; any deadlock will do.`,
    ({ threads }) =>
      `An engineer suspects a deadlock between\n\n${text(threads)}\n\nProve it by a schedule. ${FORMAT} At its end, each unfinished thread must be waiting for a lock of another thread.`,
  ],
  gold: ({ schedule }) => schedule.join(", "),
  nearMisses: (one) => {
    const { schedule, threads } = one;
    const whole = threads.flatMap((steps, index) => steps.map(() => index + 1));
    return [whole, schedule.slice(0, -1), [...schedule, 1], schedule.slice(1), [...schedule, ...schedule], [1, 2]]
      .map((list) => list.join(", "))
      .filter((answer) => answer !== "" && scoreOf(one, answer) < 1);
  },
  variants: ({ schedule }) => [schedule.join(" "), `[${schedule.join(", ")}]`],
  score: scoreOf,
});

const FORMAT = "Write the numbers of the threads in the order of their steps (a line is a step), separated by commas.";

function text(threads: readonly (readonly Step[])[]): string {
  return threads
    .map(
      (steps, index) =>
        `Thread ${index + 1}:\n${steps.map((step) => `  ${step.do === "work" ? "work" : `${step.do} ${step.lock}`}`).join("\n")}`,
    )
    .join("\n");
}

function draw(rng: Rng, level: Level): Instance | null {
  const [count, lockCount, nested, more, least] = at(SIZES, level - 1);
  const locks = "ABCDEF".slice(0, lockCount).split("");
  const threads = range(count).map((): Step[] => {
    const steps: Step[] = [];
    const held: string[] = [];
    // Locks are released in any order; afterwards others are taken.
    for (const _ of range(nested + more)) {
      const free = locks.filter((lock) => !held.includes(lock));
      const kind = rng.integer(4);
      if (kind === 0) steps.push({ do: "work", lock: "" });
      else if (held.length < nested && kind < 3) {
        const [lock = "A"] = sample(free, 1, rng);
        held.push(lock);
        steps.push({ do: "lock", lock });
      } else if (held.length > 0)
        steps.push({ do: "unlock", lock: held.splice(rng.integer(held.length), 1)[0] ?? "A" });
    }
    return [...steps, ...held.reverse().map((lock): Step => ({ do: "unlock", lock }))];
  });
  const found = shortest(threads);
  if (found === null || found.schedule.length < least) return null;
  // Random steps must seldom end in a deadlock at the harder levels.
  const stuck = range(RANDOM).filter(() => isRandomStuck(threads, rng)).length;
  if (stuck > RANDOM * (level < 3 ? 0.7 : 0.4)) return null;
  const low = [4, 16, 60, 170, 700][level - 1] ?? 0;
  const high = [16, 60, 170, 700, MOST_STATES][level - 1] ?? MOST_STATES;
  return found.states < low || found.states >= high ? null : { threads, ...found };
}

/** The threads that can take their next step. */
function movable(threads: readonly (readonly Step[])[], places: readonly number[]): number[] {
  const owned = new Set<string>();
  for (const [index, steps] of threads.entries()) {
    // An unlock gives up the lock of this thread; another one may have it by now.
    const own = new Set<string>();
    for (const { do: what, lock } of steps.slice(0, places[index])) {
      if (what === "lock") own.add(lock);
      else if (what === "unlock") own.delete(lock);
    }
    for (const lock of own) owned.add(lock);
  }
  return range(threads.length).filter((index) => {
    const next = threads[index]?.[places[index] ?? 0];
    return next !== undefined && (next.do !== "lock" || !owned.has(next.lock));
  });
}

function isDeadlock(threads: readonly (readonly Step[])[], places: readonly number[]): boolean {
  return movable(threads, places).length === 0 && threads.some((steps, index) => (places[index] ?? 0) < steps.length);
}

function moved(places: readonly number[], thread: number): number[] {
  return places.map((place, index) => (index === thread ? place + 1 : place));
}

/** Breadth-first search over the places of the threads. */
function shortest(threads: readonly (readonly Step[])[]): { schedule: number[]; states: number } | null {
  const start = threads.map(() => 0);
  const seen = new Set([start.join()]);
  const queue: { places: number[]; schedule: number[] }[] = [{ places: start, schedule: [] }];
  for (const { places, schedule } of queue) {
    if (isDeadlock(threads, places)) return { schedule, states: seen.size };
    for (const thread of movable(threads, places)) {
      const next = moved(places, thread);
      if (seen.has(next.join()) || seen.size > MOST_STATES) continue;
      seen.add(next.join());
      queue.push({ places: next, schedule: [...schedule, thread + 1] });
    }
  }
  return null;
}

function isRandomStuck(threads: readonly (readonly Step[])[], rng: Rng): boolean {
  let places = threads.map(() => 0);
  for (;;) {
    const free = movable(threads, places);
    if (free.length === 0) return isDeadlock(threads, places);
    places = moved(places, rng.pick(free));
  }
}

function scoreOf({ threads }: Instance, answer: string): number {
  const bare = answer.replace(/^\[([^[\]]*)\]$/u, "$1").trim();
  if (!/^\d(?:(?:\s*,\s*|\s+)\d){0,80}$/u.test(bare)) return 0;
  let places = threads.map(() => 0);
  for (const number of bare.split(/\s*,\s*|\s+/u).map(Number)) {
    if (!movable(threads, places).includes(number - 1)) return 0;
    places = moved(places, number - 1);
  }
  return isDeadlock(threads, places) ? 1 : 0;
}
