/** live-service-debug: its small Python against CPython, restarts and their losses, and repairs in other words. */
import { execFileSync } from "node:child_process";

import { describe, expect, test } from "vitest";

import {
  make,
  repairOf,
  scriptOf,
} from "../../../../../ts/environments/catalogue/agentic/live-service-debug/generator.ts";
import { liveServiceDebug } from "../../../../../ts/environments/catalogue/agentic/live-service-debug/index.ts";
import { type Instance, Live } from "../../../../../ts/environments/catalogue/agentic/live-service-debug/live.ts";
import { programOf } from "../../../../../ts/environments/catalogue/agentic/live-service-debug/machine.ts";
import { answersOf, sequenceOf } from "../../../../../ts/environments/catalogue/agentic/live-service-debug/probes.ts";
import {
  drawNames,
  drawOrder,
  drawRules,
  FAULTS,
  hasLine,
  sourcesOf,
} from "../../../../../ts/environments/catalogue/agentic/live-service-debug/source.ts";
import { parseModule } from "../../../../../ts/environments/catalogue/agentic/live-service-debug/syntax.ts";
import { call } from "../../../../../ts/environments/catalogue/agentic/records.ts";
import { at, range } from "../../../../../ts/environments/catalogue/lists.ts";
import { scoreScript } from "../../../../../ts/environments/catalogue/play.ts";
import type { Level, Script } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";
import { HAS_PYTHON, PYTHON } from "../code/interpreters.ts";

const SERVICES = IS_LONG ? 40 : 3;
const SEQUENCES = IS_LONG ? 20 : 4;
const KEYS = ["a", "b", "c"];
const row = at(liveServiceDebug.rows, 0);

/** The built-in functions of a service, and its requests, in Python. */
const RUNNER = `
import json, sys
for sources, sequences in json.load(sys.stdin):
    for sequence in sequences:
        minute, tables = [0], {}
        table = lambda name: tables.setdefault(name, {})
        space = {
            "now": lambda: minute[0],
            "get": lambda name, key: table(name).get(key),
            "put": lambda name, key, value: table(name).__setitem__(key, value),
            "drop": lambda name, key: table(name).pop(key, None) and None,
            "size": lambda name: len(table(name)),
            "oldest": lambda name: next(iter(table(name)), None),
            "newest": lambda name: next(reversed(table(name)), None),
        }
        for source in sources:
            exec(source, space)
        answers = []
        for one in sequence:
            for _ in range(one["after"]):
                minute[0] += 1
                try:
                    space["work"]()
                except Exception:
                    pass
            try:
                answers.append(json.dumps(space["handle"](*[one[k] for k in ("op", "key", "other", "amount", "id")])))
            except Exception:
                answers.append("error 500")
        print(json.dumps(answers))
`;

function instanceOf(level: Level, from = 1): Instance {
  const rng = createRng(from);
  for (let turn = 0; turn < 200; turn++) {
    const instance = make(rng, level);
    if (instance !== null) return instance;
  }
  throw new Error("no instance");
}

function scoreOf(instance: Instance, script: Script): number {
  return scoreScript(row, instance, script);
}

test.skipIf(!HAS_PYTHON)("CPython gives the same answers, with every fault and without one", () => {
  const rng = createRng(9);
  const cases = range(SERVICES).flatMap((index) => {
    const spec = { rules: drawRules(rng, ["fee", "bonus", "known"]), names: drawNames(rng), order: drawOrder(rng) };
    const sequences = range(SEQUENCES).map((place) => sequenceOf(spec.rules, 100 * index + place, KEYS, 40));
    const faults = FAULTS.filter((fault) => hasLine(spec, fault)).map(({ id }) => [id]);
    return [[], ...faults].map((some) => ({ sources: sourcesOf(spec, some), sequences }));
  });
  const input = JSON.stringify(cases.map(({ sources, sequences }) => [sources, sequences]));
  const printed = execFileSync(PYTHON, ["-c", RUNNER], { input, encoding: "utf8", maxBuffer: 2 ** 28 });
  const lines = printed.trim().split("\n");
  const ours = cases.flatMap(({ sources, sequences }) =>
    sequences.map((sequence) =>
      (answersOf(programOf(sources), sequence) ?? []).map((answer) => answer.replace(/^error 500.*$/u, "error 500")),
    ),
  );
  expect(lines.map((line) => JSON.parse(line) as string[])).toEqual(ours);
});

test("every fault changes one file of a service with all rules", () => {
  const rng = createRng(2);
  const spec = { rules: drawRules(rng, ["fee", "bonus", "known"]), names: drawNames(rng), order: drawOrder(rng) };
  for (const fault of FAULTS) {
    expect([fault.id, hasLine(spec, fault)]).toEqual([fault.id, true]);
    const [right, wrong] = [sourcesOf(spec), sourcesOf(spec, [fault.id])];
    expect(right.filter((source, index) => source !== wrong[index])).toHaveLength(1);
  }
});

describe("a source is refused with its line", () => {
  test.each([
    ["def f(a):\n    return a +", "line 2"],
    ["def f(a)\n    return a", "line 1"],
    ["def f(a):\nreturn a", "line 1"],
    ["def f(a):\n   return a", "line 2"],
    ["def f(a):\n    if a == 1:\n    return 2", "line 2"],
    ["def f(a):\n    a = 1 = 2", "line 2"],
    ["def f(a):\n    return 1 < a < 3", "line 2"],
    ["def f(a):\n    import os", "line 2"],
    ["def f(a):\n    return a.b", "line 2"],
    ["f(1)", "line 1"],
    [`def f(a):\n    return ${"(".repeat(3_000)}`, "line 2"],
    ["    X = 1", "line 1"],
  ])("%j", (source, line) => {
    expect(() => parseModule(source)).toThrow(line);
  });
});

test("a program that does not end, or calls itself for ever, fails as a request and harms nothing", () => {
  const sequence = sequenceOf(instanceOf(1).rules, 1, KEYS);
  for (const body of [
    "    while True:\n        pass",
    "    return handle(op, key, other, amount, id)",
    "    return 1 // 0",
  ]) {
    const program = programOf([`def handle(op, key, other, amount, id):\n${body}\n`, "def work():\n    return 0\n"]);
    for (const answer of answersOf(program, sequence) ?? []) expect(answer).toMatch(/^error 500/u);
  }
});

test("lists within lists, deep expressions and large tables end as a request that fails", () => {
  const sequence = sequenceOf(instanceOf(1).rules, 1, KEYS);
  const elifs = range(300).map((index) => `    elif amount == ${index} - 900:\n        pass\n`);
  for (const body of [
    `    x = [1]\n${"    x = [x, x]\n".repeat(20)}    return x`,
    `    return handle(op, key, other, amount, id)${" + 1".repeat(400)}`,
    `    return handle(op, key, other, amount, id)${"[0]".repeat(400)}`,
    `    return ${"not ".repeat(400)}handle(op, key, other, amount, id)`,
    `    if amount == 0 - 900:\n        pass\n${elifs.join("")}    else:\n        return handle(op, key, other, amount, id)`,
    '    n = 0\n    while n < 400:\n        put("t", n, n)\n        n = n + 1\n    while n > 300:\n        last = newest("t")\n        n = n - 1',
  ]) {
    const program = programOf([`def handle(op, key, other, amount, id):\n${body}\n`, "def work():\n    return 0\n"]);
    for (const answer of answersOf(program, sequence) ?? []) expect(answer).toMatch(/^error 500/u);
  }
});

test("a repair in other words counts, and so does the whole file written anew", () => {
  for (const level of [1, 3, 5] as const) {
    const instance = instanceOf(level, 7);
    const [reads, restart] = [scriptOf(instance, []).slice(0, -1), call("restart", { queue: "save" })];
    const remark = instance.faults
      .map((id) => repairOf(instance, id))
      .map((one) => call("edit", { ...one, text: `${String(one["text"])}  # mended` }));
    expect(scoreOf(instance, [...reads, ...remark, restart])).toBe(1);
    const right = sourcesOf(instance);
    const given = sourcesOf(instance, instance.faults);
    const anew = (["handler", "store", "cache", "queue"] as const).map((file, index) =>
      call("edit", { file, from: 1, to: at(given, index).trimEnd().split("\n").length, text: at(right, index) }),
    );
    expect(scoreOf(instance, [...anew, restart])).toBe(1);
  }
});

test("of several faults, those that were repaired count by the square of their tests", () => {
  const instance = instanceOf(5, 3);
  const scores = range(instance.faults.length + 1).map((count) =>
    scoreOf(instance, scriptOf(instance, instance.faults.slice(0, count))),
  );
  expect(scores[0]).toBe(0);
  expect(scores.at(-1)).toBe(1);
  for (const [count, score] of scores.slice(0, -1).entries())
    expect(score).toBeLessThanOrEqual((count / (scores.length - 1)) ** 2);
});

test("a restart refuses what comes in meanwhile, keeps the store, and loses jobs only where it does not save them", () => {
  const instance = instanceOf(2, 5);
  for (const queue of ["save", "kill"] as const) {
    const live = new Live(instance);
    live.wait(10);
    const waiting = Number(live.status()["waiting_jobs"]);
    const before = live.refused;
    live.restart(queue);
    expect(live.refused - before).toBe((queue === "save" ? 2 : 1) * instance.pace);
    expect(live.lost).toBe(queue === "save" ? 0 : waiting);
    expect(live.running).not.toBeNull();
  }
});

test("a file that cannot be read keeps the service down until it is mended", () => {
  const instance = instanceOf(2, 5);
  const live = new Live(instance);
  live.edit("cache", 1, 0, "def");
  expect(live.restart("save")).toContain("cache, line 1");
  expect(live.running).toBeNull();
  const { refused, answered } = live;
  live.wait(5);
  expect(live.refused - refused).toBe(5 * instance.pace);
  expect(live.answered).toBe(answered);
  live.edit("cache", 1, 1, "");
  expect(live.restart("save")).toBe("the service runs");
});

test("time ends the work: later calls change nothing", () => {
  const instance = instanceOf(1, 4);
  const late = [...range(10).map(() => call("wait", { minutes: 10 })), ...scriptOf(instance)];
  expect(scoreOf(instance, late)).toBe(0);
});
