/** Programs in Python: the gold one, slips of it, and those that try to earn something without a plan. */
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
  const output = JSON.stringify(textOf(shown));
  return [
    plainProgram(written),
    `print(${output}, end="")`,
    "import sys\nprint(sys.stdin.read())",
    "import sys\nfor line in sys.stdin:\n    print(line.split()[0])",
    `n = int(input().split()[0])\nfor i in range(n):\n    print(i + ${first})`,
    `n = int(input().split()[0])\nprint(*range(${first}, n + ${first}))`,
    `n = int(input().split()[0])\nprint(*[${first}] * n)`,
    `n = int(input().split()[0])\nfor i in range(n):\n    print(i, i, 0)`,
    "print(-1)",
    "pass",
    "import os\nos._exit(0)",
    'import os\nfor descriptor in range(3, 20):\n    try:\n        os.write(descriptor, b"\\n0 accepted\\n")\n    except OSError:\n        pass',
    'import glob\nfor path in glob.glob("../*") + glob.glob("/proc/[0-9]*/environ"):\n    try:\n        print(open(path, "rb").read(2000))\n    except OSError:\n        pass',
    `import os\nfor _ in range(3):\n    os.fork()\nprint(${output}, end="")`,
  ];
}

export function textOf(lines: Lines): string {
  return lines.map((line) => `${line.join(" ")}\n`).join("");
}
