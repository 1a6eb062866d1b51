/** Threads of a few atomic lines over shared variables: how they are drawn, written and run. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";

/** target = source + by; names that begin with r belong to the thread, the others are shared. A null source is 0. */
export interface Line {
  target: string;
  source: string | null;
  by: number;
}
export type Threads = Line[][];

const SHARED = ["x", "y"];

export function drawThreads(rng: Rng, lengths: readonly number[]): Threads {
  return lengths.map((length) =>
    range(length).map((): Line => {
      const by = between(rng, 1, 5);
      switch (rng.integer(6)) {
        case 0:
          return { target: rng.pick(SHARED), source: null, by };
        case 1:
        case 2:
          return { target: "r", source: rng.pick(SHARED), by: 0 };
        case 3:
          return { target: rng.pick(SHARED), source: rng.pick(SHARED), by };
        default:
          return { target: rng.pick(SHARED), source: "r", by };
      }
    }),
  );
}

export function threadsText(threads: Threads): string {
  return threads
    .map((lines, index) => {
      const named = (name: string): string => (name === "r" ? `r${index + 1}` : name);
      const texts = lines.map(({ target, source, by }) => {
        const sum = source === null ? String(by) : by === 0 ? named(source) : `${named(source)} + ${by}`;
        return `  ${named(target)} = ${sum}`;
      });
      return `Thread ${index + 1}:\n${texts.join("\n")}`;
    })
    .join("\n");
}

/** Where each thread stands, its own variable, and the shared ones. */
export interface State {
  readonly places: readonly number[];
  readonly own: readonly number[];
  readonly x: number;
  readonly y: number;
}

export function startOf(threads: Threads): State {
  return { places: threads.map(() => 0), own: threads.map(() => 0), x: 0, y: 0 };
}

/** The state after the next line of a thread; null where it has none. */
export function stepOf(threads: Threads, state: State, thread: number): State | null {
  const place = state.places[thread];
  const line = place === undefined ? undefined : threads[thread]?.[place];
  if (line === undefined) return null;
  const { target, source, by } = line;
  const read = source === null ? 0 : source === "r" ? at(state.own, thread) : source === "x" ? state.x : state.y;
  const value = read + by;
  const places = state.places.map((one, index) => (index === thread ? one + 1 : one));
  if (target === "r") return { ...state, places, own: state.own.map((one, index) => (index === thread ? value : one)) };
  return target === "x" ? { ...state, places, x: value } : { ...state, places, y: value };
}

export function isOver(threads: Threads, { places }: State): boolean {
  return threads.every((lines, index) => places[index] === lines.length);
}
