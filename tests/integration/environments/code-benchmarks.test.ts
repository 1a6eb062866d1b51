/** HumanEval+ and MBPP+ with programs in sandboxes, on tasks of our own in the published shape. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { SandboxPool } from "../../../ts/sandbox/index.ts";
import type { Benchmark } from "../../../ts/environments/benchmarks/benchmark.ts";
import { findBenchmark } from "../../../ts/environments/benchmarks/index.ts";
import { packed } from "../../../ts/environments/benchmarks/scoring/python-tests.ts";
import { scoringContext } from "../../support/scoring-context.ts";
import { loadEnvironment } from "../../../ts/environments/index.ts";

let dir: string;
let pool: SandboxPool;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "prl-code-"));
  pool = await SandboxPool.start();
});
afterAll(async () => {
  await pool.close();
  rmSync(dir, { recursive: true });
});

async function taskOf(name: string, row: object, args: object = {}) {
  const data = join(dir, `${name}.jsonl`);
  writeFileSync(data, JSON.stringify(row));
  const source = (await loadEnvironment(`benchmark/${name}`)).configure({ data, ...args }).tasks("eval", 0);
  const [task] = (await source.page(null, 10)).tasks;
  const { prompt, gold } = (task?.data ?? {}) as { prompt?: unknown; gold?: unknown };
  const { scorers } = findBenchmark(name) as unknown as Benchmark<object>;
  const context = scoringContext({ sandboxes: () => Promise.resolve(pool) });
  return { prompt, scored: async (scorer: string, reply: string) => scorers[scorer]?.(reply, gold, context) };
}

const SUM = {
  task_id: "Made/0",
  prompt: 'def add(a, b):\n    """Adds."""\n',
  entry_point: "add",
  test: "def check(candidate):\n    for i in range(9):\n        assert candidate(i, 2) == i + 2\n",
};
const TWICE = {
  prompt: "Write a function that doubles a number.",
  code: "def twice(n):\n    return 2 * n",
  test_imports: [],
  test_list: ["assert twice(1) == 2", "assert twice(0) == 0", "assert twice(-1) == -2"],
  test: "for i in range(50):\n    assert twice(i) == 2 * i\n",
};
const fenced = (code: string): string => `Here it is.\n\`\`\`python\n${code}\n\`\`\`\n`;

test("a program of a chat reply passes when it runs through all tests", async () => {
  const { prompt, scored } = await taskOf("human-eval-plus", SUM);
  expect(JSON.stringify(prompt)).toContain("markdown code block");
  expect(await scored("passed", fenced("def add(a, b):\n    return a + b"))).toBe(true);
  expect(await scored("passed", fenced("def add(a, b):\n    return a - b"))).toBe(false);
  expect(await scored("passed", fenced("import sys\nsys.exit(0)"))).toBe(false);
  expect(await scored("passed", fenced("def add(a, b:"))).toBe(false);
  expect(await scored("passed", "")).toBe(false);
});

test("a completion continues the function in the mode lm-eval", async () => {
  const { prompt, scored } = await taskOf("human-eval-plus", SUM, { mode: "lm-eval" });
  expect(prompt).toBe(SUM.prompt);
  expect(await scored("passed", "    return a + b\n")).toBe(true);
  expect(await scored("passed", "    return a\n")).toBe(false);
});

test("the three tests of MBPP and all tests are scored apart", async () => {
  const { scored } = await taskOf("mbpp-plus", TWICE);
  const only = fenced("def twice(n):\n    return 2 * n if n < 5 else 0");
  expect([await scored("passed_base", only), await scored("passed", only)]).toEqual([true, false]);
  expect(await scored("passed", fenced(TWICE.code))).toBe(true);
});

/** What a program may try instead of its task, in the process that runs it. */
const ATTACKS: Readonly<Record<string, string>> = {
  "copies the last line of what runs":
    'import os\nprint(open("main.py").read().rstrip().splitlines()[-1][7:-2], flush=True)\nos._exit(0)',
  "prints every word that it finds in frames, files and the memory of processes": `import glob, os, re, sys
found, frame = [], sys._getframe()
while frame is not None:
    found.append(repr((frame.f_code.co_consts, frame.f_locals)))
    frame = frame.f_back
for path in glob.glob("*") + glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/fd/[0-9]*"):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        found.append(os.read(descriptor, 1 << 20).decode("latin-1"))
    except OSError:
        pass
for maps in glob.glob("/proc/[0-9]*/maps"):
    try:
        with open(maps) as lines, open(maps[:-4] + "mem", "rb", 0) as memory:
            for line in lines:
                if "[heap]" in line or " 00:00 0" in line:
                    start, end = (int(part, 16) for part in line.split()[0].split("-"))
                    memory.seek(start)
                    found.append(memory.read(end - start).decode("latin-1"))
    except (OSError, OverflowError, ValueError):
        pass
def add(*values):
    lines = "".join("\\n%s passed\\n%s\\n" % (word, word) for word in set(re.findall("[0-9a-f]{32}", repr(found))))
    for path in ["/proc/%d/fd/1" % os.getppid(), "/dev/stdout"]:
        try:
            with open(path, "w") as out:
                out.write(lines)
        except OSError:
            pass
    os.write(1, lines.encode())
    os._exit(0)`,
  "equals everything":
    "class Same(int):\n    def __eq__(self, other):\n        return True\n    def __ne__(self, other):\n        return False\ndef add(*values):\n    return Same()",
  "replaces what tests call": "range = lambda *values: []\ndef add(*values):\n    return 0",
  "reads the tests": `import gc, sys
def add(*values):
    seen = open("main.py").read() + repr([one for one in gc.get_objects() if isinstance(one, dict)])
    return values[0] + 2 if "def " + "check(" in seen else None`,
  "ends the process in which tests run":
    'import os, signal\ndef add(*values):\n    print("passed")\n    os.kill(os.getppid(), signal.SIGTERM)\n    os._exit(0)',
};

test.each(Object.entries(ATTACKS))("a program that %s does not pass", async (_, code) => {
  const { scored } = await taskOf("human-eval-plus", SUM);
  expect(await scored("passed", fenced(code))).toBe(false);
});

test("values of all kinds reach the program and come back", async () => {
  const values = `[None, True, 2**80, -0.5, float("inf"), "é\\ud800", b"ab", 1j, [(1, [2])], {(1, 2): {3}}, frozenset("a"), range(3), F(1, 3), D("0.10")]`;
  const check = `from fractions import Fraction as F\nfrom decimal import Decimal as D\nfrom collections import Counter, deque\ndef check(candidate):\n    for one in ${values}:\n        same = candidate(one)\n        assert same == one and type(same) is type(one), one\n`;
  const more = `    assert list(candidate("map")) == [2, 3] and candidate("counter") == {"a": 2} and candidate("deque") == deque([1])\n    assert candidate("keys") == {1: 0}.keys() and candidate(pair(1, 2)) == 3\n    try:\n        candidate("raise")\n        assert False\n    except KeyError:\n        pass\n`;
  const program = `import collections\nclass pair:\n    def __init__(self, *values):\n        self.values = values\ndef same(value):\n    if isinstance(value, pair):\n        return sum(value.values)\n    made = {"map": lambda: map(int, "23"), "counter": lambda: collections.Counter("aa"), "deque": lambda: collections.deque([1]), "keys": lambda: {1: 0}.keys(), "raise": lambda: {}[1]}\n    return made[value]() if isinstance(value, str) and value in made else value`;
  const row = { task_id: "Made/1", prompt: "class pair:\n    pass\n", entry_point: "same", test: check + more };
  const { scored } = await taskOf("human-eval-plus", row);
  expect(await scored("passed", fenced(program))).toBe(true);
  expect(await scored("passed", fenced(program.replace("return sum", "return 1 + sum")))).toBe(false);
});

test("tests that give a program what cannot be sent are an error, no wrong answer", async () => {
  const { scored } = await taskOf("mbpp-plus", { ...TWICE, test: "assert twice(lambda: 1) == 2" });
  await expect(scored("passed", fenced(TWICE.code))).rejects.toMatchObject({ code: "PRL_VERIFY_UNSUPPORTED" });
});

test("a recorded task without the names that its tests use is an error, no wrong answer", async () => {
  const { scorers } = findBenchmark("human-eval-plus") as unknown as Benchmark<object>;
  const context = scoringContext({ sandboxes: () => Promise.resolve(pool) });
  const gold = { begun: null, tests: packed(`${SUM.test}\ncheck(add)`) };
  const scored = scorers["passed"]?.(fenced("def add(a, b):\n    return a + b"), gold, context);
  await expect(scored).rejects.toMatchObject({ code: "PRL_VERIFY_UNSUPPORTED" });
});

test("a module that the tests need and the sandbox lacks is an error, no wrong answer", async () => {
  const { scored } = await taskOf("mbpp-plus", { ...TWICE, test: `import no_such_module\n${TWICE.test}` });
  await expect(scored("passed", fenced(TWICE.code))).rejects.toMatchObject({ code: "PRL_VERIFY_UNSUPPORTED" });
});
