/** branch-relaxation: the bytes of a program whose jumps are short or long, depending on how far their targets are. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Line =
  | { readonly kind: "plain"; readonly code: number; readonly argument: number }
  | { readonly kind: "fill"; readonly count: number }
  | { readonly kind: "jump"; readonly to: string }
  | { readonly kind: "address"; readonly of: string }
  | { readonly kind: "label"; readonly name: string };
export interface AssemblyProblem {
  lines: Line[];
  origin: number;
  /** Farthest distance of a short jump to either side. */
  reach: number;
  shortCode: number;
  longCode: number;
}

/** By level: instructions, jumps, largest fill. */
const SIZES = [
  [4, 1, 6],
  [6, 2, 8],
  [8, 4, 8],
  [11, 6, 9],
  [15, 9, 9],
] as const;

export const branchRelaxation = itemRow<AssemblyProblem>({
  id: "branch-relaxation",
  asks: "addresses of labels and bytes of jumps of an assembler that prefers short jumps",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) => `${encoding(one)}\n\nAssemble this program until no jump changes any more:\n\n${source(one)}\n\n${WANTED}`,
    (one) => `Source:\n\n${source(one)}\n\nThe assembler: ${encoding(one)}\n\n${WANTED}`,
    (one) => `An assembler in several passes gets\n\n${source(one)}\n\n${WANTED} ${encoding(one)}`,
    (one) =>
      `${WANTED}\n\nThe listing that goes into the assembler:\n\n${source(one)}\n\nRules of the machine: ${encoding(one)}`,
  ],
});

const WANTED =
  "Give one line for each label in the order of the source, as name=address in decimal, and then one line for each jmp in order: its bytes as two hexadecimal digits each, with spaces between them.";

const hex = (value: number): string => (value & 255).toString(16).padStart(2, "0");

function encoding({ origin, reach, shortCode, longCode }: AssemblyProblem): string {
  return `The first byte has the address ${origin}. "op c, n" takes the two bytes c and n; "fill n" takes n zero bytes; "word label" takes two bytes, the address of the label, low byte first. "jmp label" is short or long. A short one has two bytes: ${hex(shortCode)} and the distance from the end of the instruction to the label as a signed byte, which must lie from -${reach} to ${reach}. A long one has three: ${hex(longCode)} and the address of the label, low byte first. All jumps start short; as long as some short jump is out of reach, all of those become long and the addresses are computed again; a long one never becomes short again.`;
}

function source({ lines }: AssemblyProblem): string {
  return lines
    .map((line) => {
      if (line.kind === "label") return `${line.name}:`;
      if (line.kind === "fill") return `  fill ${line.count}`;
      if (line.kind === "plain") return `  op ${line.code}, ${line.argument}`;
      return line.kind === "jump" ? `  jmp ${line.to}` : `  word ${line.of}`;
    })
    .join("\n");
}

interface Layout {
  readonly labels: ReadonlyMap<string, number>;
  /** Start of each line. */
  readonly starts: readonly number[];
}

function layoutOf({ lines, origin }: AssemblyProblem, long: ReadonlySet<number>): Layout {
  const labels = new Map<string, number>();
  const starts: number[] = [];
  let address = origin;
  for (const [index, line] of lines.entries()) {
    starts.push(address);
    if (line.kind === "label") labels.set(line.name, address);
    else if (line.kind === "fill") address += line.count;
    else address += line.kind === "jump" && long.has(index) ? 3 : 2;
  }
  return { labels, starts };
}

/** Answer lines and passes. `passes` is the number after which a careless reader stops. */
function assembled(problem: AssemblyProblem, passes = 100): { items: string[]; passes: number; long: number } {
  const { lines, reach, shortCode, longCode } = problem;
  const long = new Set<number>();
  let layout = layoutOf(problem, long);
  const distance = (index: number, to: string): number => (layout.labels.get(to) ?? 0) - (at(layout.starts, index) + 2);
  let done = 1;
  for (; done < passes; done++) {
    const far = lines.flatMap((line, index) =>
      line.kind === "jump" && !long.has(index) && Math.abs(distance(index, line.to)) > reach ? [index] : [],
    );
    if (far.length === 0) break;
    for (const index of far) long.add(index);
    layout = layoutOf(problem, long);
  }
  const jumps = lines.flatMap((line, index) => {
    if (line.kind !== "jump") return [];
    const target = layout.labels.get(line.to) ?? 0;
    const bytes = long.has(index) ? [longCode, target & 255, target >> 8] : [shortCode, distance(index, line.to)];
    return [bytes.map(hex).join(" ")];
  });
  const labels = lines.flatMap((line) =>
    line.kind === "label" ? [`${line.name}=${layout.labels.get(line.name) ?? 0}`] : [],
  );
  return { items: [...labels, ...jumps], passes: done, long: long.size };
}

function make(rng: Rng, level: Level) {
  const [count, jumps, largest] = at(SIZES, level - 1);
  const labels = range(Math.max(2, Math.ceil(jumps / 2))).map((index) => `L${index + 1}`);
  const places = range(count + jumps);
  const jumpPlaces = new Set(places.toSorted(() => rng.next() - 0.5).slice(0, jumps));
  const lines: Line[] = places.map((place): Line => {
    if (jumpPlaces.has(place)) return { kind: "jump", to: rng.pick(labels) };
    const kind = rng.integer(6);
    if (kind === 0) return { kind: "address", of: rng.pick(labels) };
    return kind <= 2
      ? { kind: "fill", count: between(rng, 2, largest) }
      : { kind: "plain", code: between(rng, 1, 99), argument: between(rng, 0, 99) };
  });
  for (const name of labels) lines.splice(rng.integer(lines.length + 1), 0, { kind: "label", name });
  const renamed = lines.flatMap((line) => (line.kind === "label" ? [line.name] : []));
  const fresh = (name: string): string => `L${renamed.indexOf(name) + 1}`;
  const problem: AssemblyProblem = {
    lines: lines.map((line): Line => {
      if (line.kind === "label") return { ...line, name: fresh(line.name) };
      if (line.kind === "jump") return { ...line, to: fresh(line.to) };
      return line.kind === "address" ? { ...line, of: fresh(line.of) } : line;
    }),
    origin: between(rng, 20, 900),
    reach: between(rng, 6, 6 + 3 * level),
    shortCode: between(rng, 100, 175),
    longCode: between(rng, 176, 250),
  };
  const { items, passes, long } = assembled(problem);
  if (passes < Math.min(level, 3) || (level > 1 && long === jumps)) return null;
  const misses = [
    assembled(problem, Math.max(1, passes - 1)).items,
    assembled({ ...problem, reach: 0 }).items,
    assembled({ ...problem, origin: 0 }).items,
    assembled({ ...problem, reach: 1_000 }).items,
  ];
  return { problem, items, misses, effort: lines.length * passes };
}
