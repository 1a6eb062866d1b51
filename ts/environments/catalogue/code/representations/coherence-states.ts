/** coherence-states: the states of a cache line on several cores after each access under MESI or MSI. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface CoherenceProblem {
  protocol: "MESI" | "MSI" | "MOESI";
  cores: number;
  accesses: { core: number; do: "read" | "write" | "evict"; line: string }[];
}

/** By level: cores, lines, accesses. */
const SIZES = [
  [2, 1, 5],
  [2, 2, 8],
  [3, 2, 11],
  [3, 3, 16],
  [4, 3, 24],
] as const;
const RULES = {
  MSI: "A core that reads a line which it does not have gets it as S; a core that has it as M keeps it as S and writes it back.",
  MESI: "A core that reads a line which it does not have gets it as E if no other core has it, and as S otherwise; another core with M (which writes it back) or E goes to S.",
  MOESI:
    "A core that reads a line which it does not have gets it as E if no other core has it, and as S otherwise; another core with E goes to S, one with M goes to O without writing it back, and O stays.",
} as const;

export const coherenceStates = itemRow<CoherenceProblem>({
  id: "coherence-states",
  asks: "the states of cache lines on several cores after each access, and the number of write-backs",
  form: "list",
  tries: 40,
  make,
  prompts: [
    (one) =>
      `${rules(one)}\n\nAccesses:\n${text(one)}\n\nAfter each access write the states of its line on core 0 to core ${one.cores - 1} as one word (such as ${"SIMIE".slice(0, one.cores)}). After the last one add the number of write-backs in all. Separate by commas.`,
    (one) =>
      `Protocol ${one.protocol}, ${one.cores} cores, empty caches. ${rules(one)}\n\n${text(one)}\n\nList for every access the state letters of the accessed line, core by core, as a word; finally the count of write-backs. Commas between.`,
    (one) =>
      `${text(one)}\n\nFollow this trace on ${one.cores} cores. ${rules(one)} Answer: one word of ${one.cores} state letters for each access (the line that it touches, core 0 first), and at the end how many write-backs happened; comma-separated.`,
    (one) =>
      `Snooping caches. ${rules(one)}\n\nTrace:\n${text(one)}\n\nGive the words of states after each step (letters of core 0, 1, ... for the line of this step) and then the total of write-backs, with commas.`,
  ],
});

function rules({ protocol }: CoherenceProblem): string {
  return `Every line is I on every core at first. ${RULES[protocol]} A write makes the line M on its core and I on all others; if another core had it as M${protocol === "MOESI" ? " or O" : ""}, that core writes it back first. An eviction makes it I on its core, with a write-back if it was M${protocol === "MOESI" ? " or O" : ""}. Reads of a line that a core has change nothing.`;
}

function text({ accesses }: CoherenceProblem): string {
  return accesses.map(({ core, do: what, line }) => `core ${core} ${what}s ${line}`).join("\n");
}

function make(rng: Rng, level: Level) {
  const [cores, lines, count] = at(SIZES, level - 1);
  const accesses = range(count).map(() => ({
    core: rng.integer(cores),
    do: rng.pick(["read", "read", "read", "write", "write", "evict"] as const),
    line: "XYZ".charAt(rng.integer(lines)),
  }));
  const problem: CoherenceProblem = { protocol: rng.pick(["MSI", "MESI", "MOESI"] as const), cores, accesses };
  const items = states(problem);
  if (new Set(items).size < Math.min(6, 3 + level)) return null;
  const others = (["MSI", "MESI", "MOESI"] as const)
    .filter((one) => one !== problem.protocol)
    .map((protocol) => states({ ...problem, protocol }));
  if (others.some((miss) => miss.join() === items.join())) return null;
  return { problem, items, misses: [...others, items.slice(0, -1)], effort: count * cores };
}

function states({ protocol, cores, accesses }: CoherenceProblem): string[] {
  const lines = new Map<string, string[]>();
  let back = 0;
  const words = accesses.map(({ core, do: what, line }) => {
    const held = lines.get(line) ?? range(cores).map(() => "I");
    lines.set(line, held);
    const isOwned = (state: string): boolean => state === "M" || state === "O";
    if (what === "evict") {
      back += Number(isOwned(at(held, core)));
      held[core] = "I";
    } else if (what === "write") {
      for (const other of range(cores)) {
        if (other === core) continue;
        back += Number(isOwned(at(held, other)));
        held[other] = "I";
      }
      held[core] = "M";
    } else if (held[core] === "I") {
      const isAlone = held.every((state) => state === "I");
      for (const other of range(cores)) {
        if (held[other] === "M") {
          held[other] = protocol === "MOESI" ? "O" : "S";
          back += Number(protocol !== "MOESI");
        } else if (held[other] === "E") held[other] = "S";
      }
      held[core] = isAlone && protocol !== "MSI" ? "E" : "S";
    }
    return held.join("");
  });
  return [...words, String(back)];
}
