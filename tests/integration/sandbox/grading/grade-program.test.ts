/** Programs graded in real sandboxes: verdicts, rules of comparison, and programs that try to know more than they should. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  gradeProgram,
  type GradeProgramOptions,
  type ProgramLanguage,
  programReward,
} from "../../../../ts/verify/index.ts";
import { SandboxPool } from "../../../../ts/sandbox/index.ts";
import { unobservable } from "../support.ts";

let pool: SandboxPool;
const missing = new Map<ProgramLanguage, string>();
beforeAll(async () => {
  pool = await SandboxPool.start();
  for (const [language, program] of [
    ["python", "python3"],
    ["javascript", "node"],
    ["c", "gcc"],
  ] as const) {
    const { exitCode } = await pool.runOnce({ command: [program, "--version"] });
    if (exitCode !== 0) missing.set(language, `there is no ${program} in the sandbox`);
  }
});
afterAll(async () => pool.close());

const there = (skip: (why: string) => void, language: ProgramLanguage): void => {
  const why = missing.get(language);
  if (why === undefined) return;
  process.stderr.write(`skipped: ${why}\n`);
  skip(why);
};

const grade = (options: Partial<GradeProgramOptions> & Pick<GradeProgramOptions, "code">) =>
  gradeProgram(pool, {
    language: "python",
    tests: [{ input: "3 4\n", output: "7\n" }],
    timeLimitMs: 2_000,
    ...options,
  });

const verdicts = async (...args: Parameters<typeof grade>) => {
  const { verdict, results } = await grade(...args);
  return [verdict, results.map((result) => result.verdict)];
};

const SUMS = {
  python: "print(sum(map(int, input().split())))",
  javascript: "console.log(require('fs').readFileSync(0, 'utf8').trim().split(/\\s+/).reduce((a, b) => a + +b, 0))",
  c: '#include <stdio.h>\nint main(void) { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); }',
} as const;

describe.each(["python", "javascript", "c"] as const)("%s", (language) => {
  const tests = ["1 2", "30 4", "-5 5"].map((input) => ({
    input: `${input}\n`,
    output: `${input.split(" ").reduce((sum, word) => sum + Number(word), 0)}\n`,
  }));

  test("a right program is accepted in every test, and one that is right by chance is not", async ({ skip }) => {
    there(skip, language);
    expect(await verdicts({ language, code: SUMS[language], tests })).toEqual([
      "accepted",
      tests.map(() => "accepted"),
    ]);
    const constant = {
      python: "print(3)",
      javascript: "console.log(3)",
      c: 'int puts(const char*); int main(void) { puts("3"); }',
    };
    expect(await verdicts({ language, code: constant[language], tests })).toEqual([
      "wrong_answer",
      ["accepted", "wrong_answer", "wrong_answer"],
    ]);
  });

  test("a text that is no program is a compile error", async ({ skip }) => {
    there(skip, language);
    const graded = await grade({ language, code: "int main( {{{", tests });
    expect([graded.verdict, graded.results.map(({ verdict }) => verdict)]).toEqual([
      "compile_error",
      tests.map(() => "compile_error"),
    ]);
    expect(graded.message).not.toBe("");
  });

  test("a program that does not end, and one that crashes after the right output", async ({ skip }) => {
    there(skip, language);
    const endless = { python: "while True: pass", javascript: "for (;;);", c: "int main(void) { for (;;); }" };
    expect((await grade({ language, code: endless[language], timeLimitMs: 500 })).verdict).toBe("time_limit");
    const left = {
      python: `${SUMS.python}\nraise SystemExit(1)`,
      javascript: `${SUMS.javascript}; process.exitCode = 1`,
      c: SUMS.c.replace("}", "return 1; }"),
    };
    expect((await grade({ language, code: left[language] })).verdict).toBe("crash");
  });

  test("one that takes too much memory", async ({ skip }) => {
    there(skip, language);
    const why = await unobservable(pool, "OOM");
    if (why !== null) return skip(why);
    const greedy = {
      python: "x = [bytearray(1 << 20) for _ in range(2000)]",
      javascript: "const all = []; for (let i = 0; i < 2000; i++) all.push(Buffer.alloc(1 << 20, 1));",
      c: "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }",
    };
    const { verdict } = await grade({ language, code: greedy[language], memoryLimitBytes: 128 << 20 });
    expect(verdict).toBe("memory_limit");
  });
});

describe("verdicts", () => {
  test("sleeping counts as time, too", async () => {
    expect((await grade({ code: "import time; time.sleep(60)", timeLimitMs: 200 })).verdict).toBe("time_limit");
    // Shorter than what a busy machine may take.
    expect((await grade({ code: "import time; time.sleep(1); print(7)", timeLimitMs: 500 })).verdict).toBe(
      "time_limit",
    );
    expect((await grade({ code: "import time; time.sleep(0.5); print(7)", timeLimitMs: 2000 })).verdict).toBe(
      "accepted",
    );
  });

  test("a signal and an exception are crashes; a syntax error that the program makes itself is one too", async () => {
    expect((await grade({ code: "import os; os.kill(os.getpid(), 11)" })).verdict).toBe("crash");
    expect((await grade({ code: "1 / 0" })).verdict).toBe("crash");
    expect((await grade({ code: "exec('(')" })).verdict).toBe("crash");
    expect((await grade({ code: "import sys; sys.stderr.write('SyntaxError\\n'); sys.exit(1)" })).verdict).toBe(
      "crash",
    );
  });

  test("the first test that fails gives the verdict; with stopOnFailure the rest is not begun", async () => {
    const code = "n = int(input())\nprint(n if n < 2 else 1 // (n - 2))";
    const tests = ["0", "1", "5", "2"].map((n) => ({ input: n, output: n }));
    expect(await verdicts({ code, tests })).toEqual([
      "wrong_answer",
      ["accepted", "accepted", "wrong_answer", "crash"],
    ]);
    const stopped = ["accepted", "accepted", "wrong_answer", null];
    expect(await verdicts({ code, tests, stopOnFailure: true })).toEqual(["wrong_answer", stopped]);
  });

  test("output beyond the default limit is compared whole", async () => {
    const output = `${"x".repeat(99)}\n`.repeat(30_000);
    expect((await grade({ code: "print(('x' * 99 + '\\n') * 30000)", tests: [{ input: "", output }] })).verdict).toBe(
      "accepted",
    );
    expect((await grade({ code: "print(('x' * 99 + '\\n') * 30001)", tests: [{ input: "", output }] })).verdict).toBe(
      "wrong_answer",
    );
  });

  test("lines are LiveCodeBench's rule, tokens know a tolerance", async () => {
    const third = { code: "print(1 / 3); print('a  b')", tests: [{ input: "", output: "0.3333\na b" }] };
    expect((await grade(third)).verdict).toBe("wrong_answer");
    expect((await grade({ ...third, compare: "tokens" })).verdict).toBe("accepted");
    expect((await grade({ ...third, compare: "tokens", tolerance: 0 })).verdict).toBe("wrong_answer");
    expect((await grade({ code: "print('+7.00')" })).verdict).toBe("accepted");
  });

  test("a daemon that is gone is infra, and no reward", async () => {
    const gone = await SandboxPool.start({ parked: 1 });
    const grading = gradeProgram(gone, {
      language: "python",
      code: "import time; time.sleep(50); print(7)",
      tests: [{ input: "", output: "7" }],
      timeLimitMs: 60_000,
    });
    while ((await gone.health()).running === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    process.kill(gone.daemonPid ?? 0, "SIGKILL");
    const graded = await grading;
    await gone.close();
    expect([graded.verdict, graded.results.map(({ verdict }) => verdict)]).toEqual(["infra", ["infra"]]);
    expect(() => programReward(graded)).toThrow(expect.objectContaining({ code: "PRL_SANDBOX_INFRA" }));
  });

  test("an abort rejects with its reason", async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error("enough")), 200);
    await expect(grade({ code: "while True: pass", timeLimitMs: 20_000, signal: stop.signal })).rejects.toThrow(
      "enough",
    );
  });

  test.each([
    [{ tests: [] }, "PRL_VERIFY_OPTIONS"],
    [{ language: "cobol" as "c" }, "PRL_VERIFY_UNSUPPORTED"],
    [{ language: "c", functionName: "f" }, "PRL_VERIFY_UNSUPPORTED"],
    [{ functionName: "f(); evil" }, "PRL_VERIFY_OPTIONS"],
    [{ beforeCall: "pass\n" }, "PRL_VERIFY_OPTIONS"],
    [{ beforeCall: "pass\n", functionName: "f", language: "javascript" }, "PRL_VERIFY_OPTIONS"],
    [{ functionName: "f", tests: [{ input: "{", output: "1" }] }, "PRL_VERIFY_OPTIONS"],
    [{ functionName: "f", tests: [{ input: "1,2", output: "1" }] }, "PRL_VERIFY_OPTIONS"],
    [{ timeLimitMs: 0 }, "PRL_VERIFY_OPTIONS"],
    [{ tolerance: Number.NaN }, "PRL_VERIFY_OPTIONS"],
    [{ compare: "words" as "lines" }, "PRL_VERIFY_OPTIONS"],
    [{ tests: [{ input: [1], output: 1 }] }, "PRL_VERIFY_OPTIONS"],
  ] satisfies [Partial<GradeProgramOptions>, string][])("%j is the caller's mistake: %s", async (options, code) => {
    await expect(grade({ code: "print(7)", ...options })).rejects.toMatchObject({ code });
  });

  test("a part of the tests is a part of the reward when that is wanted", () => {
    const graded = (...all: ("accepted" | "crash" | "infra")[]) => ({
      verdict: all.find((one) => one !== "accepted") ?? ("accepted" as const),
      results: all.map((verdict) => ({ verdict, run: null })),
      message: "",
    });
    expect(programReward(graded("accepted", "crash"))).toBe(0);
    expect(programReward(graded("accepted", "crash"), { partial: true })).toBe(0.5);
    expect(programReward(graded("accepted", "accepted"))).toBe(1);
    expect(() => programReward(graded("accepted", "infra"), { partial: true })).toThrow();
  });
});

describe("calls of functions", () => {
  const call = (code: string, input: string, output: string, language: ProgramLanguage = "python") =>
    grade({ language, code, functionName: "f", tests: [{ input, output }] }).then(({ verdict }) => verdict);
  const gives = (expression: string, output: string) => call(`def f(): return ${expression}`, "", output);

  test("a plain function, a method of Solution, common modules at hand, prints that do not matter", async () => {
    expect(await call("def f(a, b):\n  print(a)\n  return a + b", "[1, 2]\n[3]", "[1, 2, 3]")).toBe("accepted");
    const method =
      "class Solution:\n  def f(self, a: List[int]) -> int:\n    return heapq.nsmallest(1, a)[0] + gcd(4, 6)";
    expect(await call(method, "[5, 3]", "5")).toBe("accepted");
    expect(await call("def g(): pass", "", "1")).toBe("crash");
    expect(await call("def f(a): return a", "", "1")).toBe("crash");
  });

  test("javascript: a declaration, a constant, a class, an export, a promise", async ({ skip }) => {
    there(skip, "javascript");
    for (const code of [
      "function f(a, b) { console.log('noise'); return a.concat(b); }",
      "const f = (a, b) => [...a, ...b];",
      "class Solution { f(a, b) { return [...a, ...b]; } }",
      "export function f(a, b) { return [...a, ...b]; }",
      "const later = (x) => new Promise((done) => setTimeout(done, 5, x));\nvar f = async (a, b) => later([...a, ...b]);",
      "module.exports.f = (a, b) => [...a, ...b];",
    ]) {
      expect([code, await call(code, "[1, 2]\n[3]", "[1, 2, 3]", "javascript")]).toEqual([code, "accepted"]);
    }
    expect(await call("function f() { process.exit(0); }", "", "null", "javascript")).toBe("crash");
    expect(await call("function f( {", "", "null", "javascript")).toBe("compile_error");
    expect(
      await call(
        "const f = () => ({ a: [1.5, null, 'x'], b: true })",
        "",
        '{"b": true, "a": [1.5, null, "x"]}',
        "javascript",
      ),
    ).toBe("accepted");
  });

  test.each([
    ["(1, 2)", "[1, 2]", "accepted"],
    ["[(1, 2)]", "[[1, 2]]", "wrong_answer"],
    ["True", "1", "accepted"],
    ["1.0", "1", "accepted"],
    ["0.1 + 0.2", "0.3", "wrong_answer"],
    ["2 ** 53 + 1", "9007199254740992", "wrong_answer"],
    ["2 ** 53 + 1", "9007199254740993", "accepted"],
    ["10 ** 5000", `1${"0".repeat(5000)}`, "accepted"],
    ["float('inf')", "Infinity", "accepted"],
    ["float('nan')", "NaN", "wrong_answer"],
    ["{'a': [1], 'b': None}", '{"b": null, "a": [1]}', "accepted"],
    ["{1: 2}", '{"1": 2}', "wrong_answer"],
    ["{1, 2}", "[1, 2]", "wrong_answer"],
    ["'\\ud800 é\\n'", '"\\ud800 é\\n"', "accepted"],
    ["{'t': [1]}", "[1]", "wrong_answer"],
    ["None", "null", "accepted"],
  ])("%s against %s: %s", async (expression, output, verdict) => {
    expect(await gives(expression, output)).toBe(verdict);
  });

  test("values go in and are compared as they are", async () => {
    const tests = [{ input: ["a", { b: [1] }], output: "a1" }];
    expect((await grade({ code: "def f(s, d): return s + str(d['b'][0])", functionName: "f", tests })).verdict).toBe(
      "accepted",
    );
    const near = { code: "def f(): return 0.1 + 0.2", functionName: "f", tests: [{ input: [], output: 0.3 }] };
    expect((await grade({ ...near, tolerance: 1e-9 })).verdict).toBe("accepted");
  });

  test.each([
    ["leaves with 0", "import os\ndef f(a): os._exit(0)"],
    ["leaves with sys.exit", "import sys\ndef f(a): sys.exit(0)"],
    ["leaves before it is called", "import os; os._exit(0)"],
    ["prints instead of giving back", "def f(a):\n  print(a)"],
    [
      "prints something like an answer",
      "import os\ndef f(a):\n  os.write(1, b'\\n0123456789abcdef0123456789abcdef 2\\n'); os._exit(0)",
    ],
    [
      "gives back what says that it equals everything",
      "class E(int):\n  def __eq__(self, other): return True\ndef f(a): return E(1)",
    ],
    [
      "gives back what is none of JSON's",
      "class E:\n  __eq__ = lambda *_: True\n  __repr__ = lambda _: '2'\ndef f(a): return E()",
    ],
    ["replaces the encoder of its answer", "import json\njson.dumps = lambda *_: '2, 2'\ndef f(a): return 1"],
    [
      "answers twice, with the harness's own word",
      "import os, sys\ndef f(a):\n  word = sys._getframe(1).f_locals['request']['word']\n  os.write(1, f'\\n{word} 1\\n'.encode())\n  return 2",
    ],
    [
      "answers in every way there is",
      "import os, sys\ndef f(a):\n  word = sys._getframe(1).f_locals['request']['word']\n  for n in range(9): os.write(1, f'\\n{word} {n}\\n'.encode())\n  os._exit(0)",
    ],
    [
      "leaves a child that goes on writing",
      "import os, time\ndef f(a):\n  if os.fork() == 0:\n    for _ in range(20): os.write(1, b'x'); time.sleep(0.02)\n    os._exit(0)\n  time.sleep(0.1); return 1",
    ],
  ])("a program that %s is not accepted", async (_, code) => {
    expect(["crash", "wrong_answer"]).toContain(await call(code, "1", "2"));
  });
});

describe("expected results", () => {
  const SECRET = "expected-4f1c9a77";
  /** Everything that a program could look at, written out with each byte one higher, so that the search itself is no find. */
  const search = `
import os, sys
found = []
def look(path):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if bytes(b - 1 for b in b'fyqfdufe.5g2d:b88') in os.read(fd, 1 << 20): found.append(path)
        finally: os.close(fd)
    except Exception: pass
def memory(pid):
    try:
        for line in open('/proc/%s/maps' % pid):
            span, rights = line.split()[:2]
            if 'r' not in rights: continue
            low, high = (int(part, 16) for part in span.split('-'))
            try:
                with open('/proc/%s/mem' % pid, 'rb', buffering=0) as file:
                    file.seek(low)
                    if bytes(b - 1 for b in b'fyqfdufe.5g2d:b88') in file.read(min(high - low, 32 << 20)): found.append('%s mem' % pid)
            except Exception: pass
    except Exception: pass
def everything():
    for root in ('.', '/tmp', '/dev/shm', '/run', '/var', '/home', '/root', '/etc'):
        for folder, _, files in os.walk(root):
            if folder.count('/') > 4: continue
            for name in files: look(os.path.join(folder, name))
    for pid in os.listdir('/proc'):
        if not pid.isdigit() or pid == str(os.getpid()): continue
        memory(pid)
        for name in ('environ', 'cmdline', 'cwd/hidden', *('fd/%d' % fd for fd in range(16))): look('/proc/%s/%s' % (pid, name))
    for fd in range(3, 64):
        try: found.append('fd %d' % fd) if bytes(b - 1 for b in b'fyqfdufe.5g2d:b88') in os.pread(fd, 1 << 20, 0) else None
        except Exception: pass
    for value in os.environ.values():
        if bytes(b - 1 for b in b'fyqfdufe.5g2d:b88').decode() in value: found.append('environment')
    return found
`;

  test("is nowhere in the sandbox of a program that reads input and prints", async () => {
    const code = `${search}\nprint(everything())`;
    const { results } = await grade({
      code,
      tests: [
        { input: "", output: SECRET },
        { input: "", output: SECRET },
      ],
      timeLimitMs: 20_000,
    });
    expect(results.map(({ run }) => run?.stdout.toString())).toEqual(["[]\n", "[]\n"]);
  });

  test("is nowhere in the sandbox of a function that is called, its caller included", async () => {
    const code = `${search}\nimport gc\ndef f():\n  held = [o for o in gc.get_objects() if bytes(b - 1 for b in b'fyqfdufe.5g2d:b88').decode() in repr(o)]\n  return everything() + ['object'] * len(held)`;
    const tests = [{ input: "", output: JSON.stringify(SECRET) }];
    const { results } = await grade({ code, functionName: "f", tests, timeLimitMs: 20_000 });
    expect(results[0]?.run?.stdout.toString()).toMatch(/^\n[0-9a-f]{32} \[\]\n$/u);
  });

  test("Python that runs before a call finds the arguments unread, and the function finds its names", async () => {
    const beforeCall = "import sys\n\nUNREAD = sys.stdin.buffer.peek()[:8].decode()\n";
    const code = "import __main__\ndef f(x): return [__main__.UNREAD, x]";
    const tests = [{ input: [7], output: ['{"name":', 7] }];
    expect((await grade({ code, functionName: "f", beforeCall, tests })).verdict).toBe("accepted");
  });

  test("the search finds an existing path", async () => {
    const { stdout } = await pool.runOnce({
      command: ["python3", "-c", `${search}\nprint(everything())`],
      files: { hidden: SECRET },
      limits: { wallMs: 30_000, cpuMs: 30_000 },
    });
    expect(stdout.toString()).toContain("hidden");
  });

  test("one test leaves nothing to the next: no file, no process", async () => {
    const code = `
import os, socket, sys, time
n = input()
try:
    files = sorted(os.listdir('.') + [f for f in os.listdir('/tmp')] + os.listdir('/dev/shm'))
except Exception: files = sorted(os.listdir('.'))
processes = [p for p in os.listdir('/proc') if p.isdigit() and b'left' in open('/proc/%s/cmdline' % p, 'rb').read()]
for path in ('left', '/tmp/left', '/dev/shm/left', 'main.py'):
    try: open(path, 'a').write('# left')
    except OSError: pass
if os.fork() == 0:
    os.setsid()
    for fd in (0, 1, 2): os.close(fd)
    os.execvp('sleep', ['left', '60'])
time.sleep(0.1)
print([f for f in files if f == 'left'], processes, '# left' in open('main.py').read().split('n = input()')[0])`;
    const tests = ["1", "2", "3"].map((input) => ({ input, output: "[] [] False" }));
    const { results } = await grade({ code, tests });
    expect(results.map(({ run }) => run?.stdout.toString())).toEqual(tests.map(() => "[] [] False\n"));
  });
});
