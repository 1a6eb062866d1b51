/** null-flow: the lines of a program at which a null reference may be used in some run. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Part =
  | { do: "new" | "null" | "find"; name: string }
  | { do: "use"; name: string }
  | { do: "same"; name: string; other: string }
  | { do: "guard"; name: string; isNull: boolean; body: Part[]; rest: Part[] }
  | { do: "maybe"; body: Part[]; rest: Part[] }
  | { do: "repeat"; body: Part[] }
  | { do: "leave" };
export interface NullProblem {
  body: Part[];
  names: string[];
}

/** By level: variables, parts of a block, depth of blocks, least and most uses. */
const SIZES = [
  [2, 5, 1, 3, 5],
  [2, 6, 1, 5, 7],
  [3, 6, 2, 7, 10],
  [3, 6, 2, 10, 14],
  [4, 6, 3, 13, 24],
] as const;
const NAMES = "abcd";
const TRIES = 60;

export const nullFlow = itemRow<NullProblem>({
  id: "null-flow",
  asks: "the lines at which a null reference may be used in some run",
  form: "set",
  tries: TRIES,
  make: draw,
  prompts: [
    (one) =>
      `${RULES}\n\n${nullSource(one)}\n\nWhich lines with use can fail in some run? Give their numbers, separated by commas. A wrong number costs as much as a right one earns.`,
    (one) =>
      `Find the possible null dereferences.\n\n${nullSource(one)}\n\n${RULES} List the line numbers of all x.use() that can fail, with commas between; false alarms are subtracted from hits.`,
    (one) =>
      `A null checker looks at this program:\n\n${nullSource(one)}\n\nA perfect checker reports exactly the uses for which a failing run exists. ${RULES} Write down the numbers of the lines that it reports (comma-separated; each wrong one cancels a right one).`,
    (one) =>
      `At which lines may this program crash?\n\n${nullSource(one)}\n\n${RULES} Answer with line numbers only, commas between. Lines that cannot crash count against you.`,
  ],
});

const RULES =
  "All variables are null at first. find() returns an object or null, new Thing() an object; maybe() gives true or false freely at each call. x.use() fails if x is null, and a run that fails ends there. return ends a run, too.";

interface Lines {
  text: string[];
  /** The line number of each use. */
  uses: Map<Part, number>;
}

function numberedLines({ body, names }: NullProblem): Lines {
  const text = [`var ${names.join(", ")};`];
  const uses = new Map<Part, number>();
  const write = (parts: readonly Part[], depth: number): void => {
    const pad = "  ".repeat(depth);
    const block = (head: string, inner: readonly Part[], rest: readonly Part[]): void => {
      text.push(`${pad}${head} {`);
      write(inner, depth + 1);
      if (rest.length > 0) {
        text.push(`${pad}} else {`);
        write(rest, depth + 1);
      }
      text.push(`${pad}}`);
    };
    for (const part of parts) {
      if (part.do === "use") {
        text.push(`${pad}${part.name}.use();`);
        uses.set(part, text.length);
      } else if (part.do === "guard")
        block(`if (${part.name} ${part.isNull ? "==" : "!="} null)`, part.body, part.rest);
      else if (part.do === "maybe") block("if (maybe())", part.body, part.rest);
      else if (part.do === "repeat") block("while (maybe())", part.body, []);
      else if (part.do === "leave") text.push(`${pad}return;`);
      else
        text.push(
          `${pad}${part.name} = ${part.do === "same" ? part.other : { new: "new Thing()", null: "null", find: "find()" }[part.do]};`,
        );
    }
  };
  write(body, 0);
  return { text, uses };
}

export function nullSource(problem: NullProblem): string {
  return numberedLines(problem)
    .text.map((line, index) => `${index + 1}: ${line}`)
    .join("\n");
}

function draw(rng: Rng, level: Level) {
  const [count, length, depth, least, most] = at(SIZES, level - 1);
  const names = NAMES.slice(0, count).split("");
  const block = (left: number, size: number): Part[] => {
    const parts = range(size).map((): Part => {
      const [name = "a", other = "b"] = sample(names, 2, rng);
      const kind = rng.integer(left > 0 ? 14 : 9);
      const inner = (): Part[] => block(left - 1, 2 + rng.integer(2));
      const rest = (): Part[] => (rng.integer(2) === 0 ? block(left - 1, 1 + rng.integer(2)) : []);
      if (kind >= 12) return { do: "repeat", body: inner() };
      if (kind >= 11) return { do: "maybe", body: inner(), rest: rest() };
      if (kind >= 9) return { do: "guard", name, isNull: rng.integer(2) === 0, body: inner(), rest: rest() };
      if (kind >= 4) return { do: "use", name };
      if (kind === 3) return { do: "same", name, other };
      return { do: rng.pick(["new", "find", "find", "null"] as const), name };
    });
    return left < depth && rng.integer(5) === 0 ? [...parts, { do: "leave" }] : parts;
  };
  const problem = {
    body: [...names.map((name): Part => ({ do: rng.pick(["new", "find"] as const), name })), ...block(depth, length)],
    names,
  };
  const { uses, text } = numberedLines(problem);
  if (uses.size < least || uses.size > most || text.length > 60) return null;
  const failing = failingUses(problem);
  const universe = [...uses.values()].map(String);
  const items = [...uses].flatMap(([part, line]) => (failing.has(part) ? [String(line)] : []));
  if (items.length === 0 || items.length > universe.length / 2) return null;
  const misses = [universe.filter((line) => !items.includes(line)), universe];
  return { problem, items, misses, universe, effort: 3 * uses.size + text.length };
}

/** Exact: the sets of states, in which each variable is null or not, that reach each line. */
function failingUses({ body, names }: NullProblem): Set<Part> {
  const failing = new Set<Part>();
  /** A state is a number with a bit for each variable, 1 for an object. */
  const run = (parts: readonly Part[], start: ReadonlySet<number>): Set<number> =>
    parts.reduce((now, part) => step(part, now), new Set(start));
  const step = (part: Part, now: Set<number>): Set<number> => {
    if (part.do === "leave") return new Set();
    if (part.do === "maybe") return new Set([...run(part.body, now), ...run(part.rest, now)]);
    if (part.do === "repeat") {
      const all = new Set(now);
      for (;;) {
        const size = all.size;
        for (const state of run(part.body, all)) all.add(state);
        if (all.size === size) return all;
      }
    }
    const bit = 2 ** names.indexOf(part.name);
    const isObject = (state: number): boolean => (state & bit) !== 0;
    const objects = [...now].filter(isObject);
    const nulls = [...now].filter((state) => !isObject(state));
    if (part.do === "guard") {
      const [yes, no] = part.isNull ? [nulls, objects] : [objects, nulls];
      return new Set([...run(part.body, new Set(yes)), ...run(part.rest, new Set(no))]);
    }
    if (part.do === "use") {
      if (nulls.length > 0) failing.add(part);
      return new Set(objects);
    }
    const set = (state: number): number => state | bit;
    const clear = (state: number): number => state & ~bit;
    if (part.do === "same") {
      const other = 2 ** names.indexOf(part.other);
      return new Set([...now].map((state) => ((state & other) !== 0 ? set(state) : clear(state))));
    }
    return new Set(
      [...now].flatMap(
        (state) => ({ new: [set(state)], null: [clear(state)], find: [set(state), clear(state)] })[part.do],
      ),
    );
  };
  run(body, new Set([0]));
  return failing;
}
