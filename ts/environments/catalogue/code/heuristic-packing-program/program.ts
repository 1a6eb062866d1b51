/** Programs in Python: the gold one, slips of it, and those that try to earn something without a plan. */
import { programAttacks } from "../program-cheats.ts";
import { type Geometry, type Lines, PRELUDE } from "./geometry.ts";

/** Steps of every search. The gold program takes less than half of its time for them. */
export const STEPS = 30_000;

export interface Written {
  readonly geometry: Geometry;
  readonly rules: object;
  readonly first: number;
}

/** Prints the plan that the expression makes. */
function program({ geometry, rules, first }: Written, parts: readonly string[], plan: string, word = "value"): string {
  const head = `${PRELUDE}\n\nFIRST = ${first}\n${geometry.python.constants(rules)}`;
  return `${[head, ...parts].map((part) => part.trim()).join("\n\n\n")}\n\n\nfor row in ${plan}:\n    print(*[${word} for value in row])`;
}

export function goldProgram(written: Written): string {
  const { plain, search } = written.geometry.python;
  return program(written, [plain, search], `search(*read(), ${STEPS})`);
}

/** Programs that a plausible slip gives. */
export function slipsOf(written: Written): string[] {
  const { plain, search } = written.geometry.python;
  const all = [plain, search];
  const cut = "def cut(plan):\n    return plan[:-1] + [plan[-1][:-1]]";
  return [
    plainProgram(written),
    program(written, all, "search(*read(), 0)"),
    program(written, all, `search(*read(), ${STEPS})`, "value + 1"),
    program(written, [...all, cut], `cut(search(*read(), ${STEPS}))`),
  ];
}

/** What earns nothing by definition. */
export function plainProgram(written: Written): string {
  return program(written, [written.geometry.python.plain], "plain(*read())");
}

export function cheatsOf(written: Written, shown: Lines): string[] {
  const { first } = written;
  return [
    plainProgram(written),
    "import sys\nprint(sys.stdin.read())",
    "import sys\nfor line in sys.stdin:\n    print(line.split()[0])",
    `n = int(input().split()[0])\nfor i in range(n):\n    print(i + ${first})`,
    `n = int(input().split()[0])\nprint(*range(${first}, n + ${first}))`,
    `n = int(input().split()[0])\nprint(*[${first}] * n)`,
    `n = int(input().split()[0])\nfor i in range(n):\n    print(i, i, 0)`,
    "print(-1)",
    ...programAttacks("python", textOf(shown)),
  ];
}

export function textOf(lines: Lines): string {
  return lines.map((line) => `${line.join(" ")}\n`).join("");
}
