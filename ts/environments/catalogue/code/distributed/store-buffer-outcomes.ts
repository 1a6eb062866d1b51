/** store-buffer-outcomes: the values that loads can see when each processor's stores reach memory late. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Line = { do: "store"; to: string; value: number } | { do: "load"; from: string } | { do: "fence" };
export interface BufferProblem {
  threads: Line[][];
}

/** By level: lines of each thread. */
const SIZES = [
  [2, 2],
  [3, 2],
  [3, 3],
  [4, 3],
  [4, 5],
] as const;
const MOST_STATES = 4_000;

export const storeBufferOutcomes = itemRow<BufferProblem>({
  id: "store-buffer-outcomes",
  asks: "all values that loads can see on processors with store buffers and fences",
  form: "list",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${text(one)}\n\n${RULES}\n\nThe loads are numbered from the first line of thread 1 to the last line of the last thread. Write every possible outcome as the string of the loaded digits in this order, sorted ascending, separated by commas.`,
    (one) =>
      `${RULES}\n\n${text(one)}\n\nWhich combinations of loaded values can occur? Each is a word of digits, one per load (thread 1 from top to bottom, then thread 2, ...). List all of them in ascending order with commas.`,
    (one) =>
      `Total store order. ${RULES} Enumerate the results of\n\n${text(one)}\n\nA result is written as the loaded values without spaces, loads in the order of threads and lines. Give the sorted list of all results, comma-separated.`,
    (one) =>
      `A litmus test:\n\n${text(one)}\n\n${RULES} Find the set of all outcomes (digits of the loads, in the order of the program text, thread after thread). Sort it and put commas between the outcomes.`,
  ],
});

const RULES =
  "x and y are 0 at first. Each thread has a first-in-first-out buffer: a store goes into it, and at any later moment its oldest entry is written to memory. A load takes the newest entry of that variable in its thread's buffer, or memory where there is none. A fence waits until the buffer is empty.";

function text({ threads }: BufferProblem): string {
  return threads
    .map((lines, index) => {
      const body = lines.map((line) =>
        line.do === "store" ? `  ${line.to} = ${line.value}` : line.do === "load" ? `  load ${line.from}` : "  fence",
      );
      return `Thread ${index + 1}:\n${body.join("\n")}`;
    })
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const lengths = shuffled(at(SIZES, level - 1), rng);
  const values = shuffled([1, 2, 3, 4, 5, 6, 7, 8, 9], rng);
  let next = 0;
  const threads = lengths.map((length) =>
    range(length).map((index): Line => {
      const name = rng.pick(["x", "y"]);
      const kind = rng.integer(8);
      if (kind === 0 && index > 0 && index < length - 1 && length > 2) return { do: "fence" };
      return kind < 4 || (index === 0 && kind < 7)
        ? { do: "store", to: name, value: at(values, next++) }
        : { do: "load", from: name };
    }),
  );
  const loads = threads.flat().filter((line) => line.do === "load").length;
  if (loads < 2 || loads > 6 || next < 2) return null;
  const isRelaxed = threads.every((lines) =>
    lines.some(
      (line, index) =>
        line.do === "store" && lines.slice(index + 1).some((other) => other.do === "load" && other.from !== line.to),
    ),
  );
  if (!isRelaxed) return null;
  const found = outcomes(threads, true);
  const strict = found === null ? null : outcomes(threads, false);
  if (found === null || strict === null || found.words.length === strict.words.length) return null;
  if (found.words.length < 3 || found.words.length > 10 + 5 * level) return null;
  const bare = outcomes(
    threads.map((lines) => lines.filter(({ do: what }) => what !== "fence")),
    true,
  );
  const misses = [strict.words, bare?.words ?? [], found.words.toReversed(), found.words.slice(1)];
  return { problem: { threads }, items: found.words, misses, effort: found.states };
}

interface State {
  places: number[];
  buffers: { name: string; value: number }[][];
  memory: Record<string, number>;
  loaded: string[];
}

/** All words of loaded values; `buffers`: whether stores may be late. Null where there are too many states. */
function outcomes(threads: readonly (readonly Line[])[], buffers: boolean): { words: string[]; states: number } | null {
  const start: State = {
    places: threads.map(() => 0),
    buffers: threads.map(() => []),
    memory: { x: 0, y: 0 },
    loaded: threads.map(() => ""),
  };
  const seen = new Set([keyOf(start)]);
  const stack = [start];
  const words = new Set<string>();
  for (let state = stack.pop(); state !== undefined; state = stack.pop()) {
    const steps = threads.flatMap((_, thread) => stepsOf(state, threads, thread, buffers));
    if (steps.length === 0) words.add(state.loaded.join(""));
    for (const next of steps) {
      const key = keyOf(next);
      if (seen.has(key)) continue;
      if (seen.size > MOST_STATES) return null;
      seen.add(key);
      stack.push(next);
    }
  }
  return { words: [...words].toSorted(), states: seen.size };
}

function keyOf({ places, buffers, memory, loaded }: State): string {
  const late = buffers.map((buffer) => buffer.map(({ name, value }) => `${name}${value}`).join(""));
  return `${places.join("")} ${late.join("/")} ${memory["x"]}${memory["y"]} ${loaded.join("/")}`;
}

function stepsOf(state: State, threads: readonly (readonly Line[])[], thread: number, buffers: boolean): State[] {
  const { places, memory, loaded } = state;
  const buffer = at(state.buffers, thread);
  const put = <Item>(list: readonly Item[], item: Item): Item[] =>
    list.map((one, index) => (index === thread ? item : one));
  const steps: State[] = [];
  const [oldest, ...rest] = buffer;
  if (oldest !== undefined)
    steps.push({ ...state, buffers: put(state.buffers, rest), memory: { ...memory, [oldest.name]: oldest.value } });
  const line = threads[thread]?.[at(places, thread)];
  if (line === undefined || (line.do === "fence" && buffer.length > 0)) return steps;
  const moved = { ...state, places: put(places, at(places, thread) + 1) };
  if (line.do === "load") {
    const value = buffer.findLast(({ name }) => name === line.from)?.value ?? memory[line.from];
    steps.push({ ...moved, loaded: put(loaded, `${at(loaded, thread)}${value}`) });
  } else if (line.do === "store") {
    const entry = { name: line.to, value: line.value };
    steps.push(
      buffers
        ? { ...moved, buffers: put(state.buffers, [...buffer, entry]) }
        : { ...moved, memory: { ...memory, [line.to]: line.value } },
    );
  } else steps.push(moved);
  return steps;
}
