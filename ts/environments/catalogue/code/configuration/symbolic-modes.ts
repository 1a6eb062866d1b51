/** symbolic-modes: the permission bits of files after chmod with symbolic modes and creations under a umask. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Clause {
  who: string;
  sign: "+" | "-" | "=";
  /** Letters of r, w, x, X, or one of u, g, o to copy. */
  what: string;
}
export interface ModesProblem {
  isFolder: boolean;
  start: number;
  commands: Clause[][];
}

/** By level: commands, most clauses of one. */
const SIZES = [
  [2, 1],
  [3, 2],
  [5, 2],
  [7, 3],
  [11, 3],
] as const;
const SHIFTS: Readonly<Record<string, number>> = { u: 6, g: 3, o: 0 };
const BITS: Readonly<Record<string, number>> = { r: 4, w: 2, x: 1 };

export const symbolicModes = itemRow<ModesProblem>({
  id: "symbolic-modes",
  asks: "the octal permissions after each of several chmod commands with symbolic modes",
  form: "list",
  tries: 30,
  make,
  prompts: [
    (one) =>
      `${start(one)} These commands run:\n${modesScript(one).join("\n")}\n\nGive its permissions in octal (three digits) after each command, separated by commas.`,
    (one) =>
      `Follow chmod.\n\n${modesScript(one).join("\n")}\n\n${start(one)} Which three octal digits does stat -c %a f print after every line? Commas between.`,
    (one) =>
      `${modesScript(one).join("\n")}\n\nBefore: ${start(one)} Clauses of one command act one after the other; X means x for folders and for files that have some x at that moment; u, g and o behind a sign copy the bits of that class. List the octal mode (such as 640) after each command with commas.`,
    (one) =>
      `An installer changes permissions step by step. ${start(one)}\n\n${modesScript(one).join("\n")}\n\nAfter each step, what is the mode as three octal digits? Answer as a comma-separated list in order.`,
  ],
});

export function modesScript({ commands }: ModesProblem): string[] {
  return commands.map((clauses) => `chmod ${clauses.map(({ who, sign, what }) => `${who}${sign}${what}`).join(",")} f`);
}

function start({ isFolder, start: mode }: ModesProblem): string {
  return `f is a ${isFolder ? "folder" : "regular file"} with the permissions ${octal(mode)}.`;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(3, "0");
}

function make(rng: Rng, level: Level) {
  const [count, most] = at(SIZES, level - 1);
  const clause = (): Clause => ({
    who: rng.pick(["u", "g", "o", "ug", "go", "uo", "a"]),
    sign: rng.pick(["+", "-", "="] as const),
    what:
      level > 1 && rng.integer(3) === 0
        ? rng.pick(["u", "g", "o"])
        : level > 1 && rng.integer(3) === 0
          ? rng.pick(["X", "rX", "wX"])
          : rng.pick(["r", "w", "x", "rw", "rx", "rwx"]),
  });
  const commands = range(count).map(() => range(1 + rng.integer(most)).map(clause));
  const problem: ModesProblem = { isFolder: rng.integer(3) === 0, start: rng.integer(512), commands };
  const items = modes(problem, "right");
  if (new Set(items).size < Math.min(count, 4)) return null;
  const misses = (["always", "add", "reversed"] as const).map((slip) => modes(problem, slip));
  return { problem, items, misses, effort: 4 * commands.flat().length + count };
}

/** Slips: X is x, = adds, or clauses act from right to left. */
function modes(
  { isFolder, start: first, commands }: ModesProblem,
  how: "right" | "always" | "add" | "reversed",
): string[] {
  let mode = first;
  return commands.map((clauses) => {
    for (const { who, sign, what } of how === "reversed" ? clauses.toReversed() : clauses) {
      // What is copied, and whether X is x, is decided before the clause changes anything.
      const before = mode;
      const digit = what.split("").reduce((sum, letter) => {
        const shift = SHIFTS[letter];
        if (shift !== undefined) return sum | ((before >> shift) & 7);
        if (letter === "X") return sum | Number(isFolder || how === "always" || (before & 0o111) !== 0);
        return sum | (BITS[letter] ?? 0);
      }, 0);
      for (const letter of who === "a" ? "ugo" : who) {
        const shift = SHIFTS[letter] ?? 0;
        if (sign === "=" && how !== "add") mode &= ~(7 << shift);
        mode = sign === "-" ? mode & ~(digit << shift) : mode | (digit << shift);
      }
    }
    return octal(mode);
  });
}
