/** Static facts against CPython, textbook types, and searches that share no code with the rows. */
import { describe, expect, test } from "vitest";

import {
  type FlowGraphProblem,
  immediateDominators,
} from "../../../../../ts/environments/catalogue/code/static-analysis/immediate-dominators.ts";
import {
  liveness,
  type LivenessProblem,
} from "../../../../../ts/environments/catalogue/code/static-analysis/liveness.ts";
import {
  matchArmCounts,
  type MatchProblem,
  matchSource,
  type Value,
  valuesOf,
} from "../../../../../ts/environments/catalogue/code/static-analysis/match-arm-counts.ts";
import {
  nullFlow,
  type NullProblem,
  nullSource,
} from "../../../../../ts/environments/catalogue/code/static-analysis/null-flow.ts";
import {
  normalised,
  type Term,
  typeOf,
  typeText,
} from "../../../../../ts/environments/catalogue/code/static-analysis/inference.ts";
import { principalType } from "../../../../../ts/environments/catalogue/code/static-analysis/principal-type.ts";
import {
  type ScopeProblem,
  scopeResolution,
  scopeSource,
} from "../../../../../ts/environments/catalogue/code/static-analysis/scope-resolution.ts";
import {
  conditionText,
  type PreconditionProblem,
  preconditionSource,
  weakestPrecondition,
} from "../../../../../ts/environments/catalogue/code/static-analysis/weakest-precondition.ts";
import { type Answer, drawnOf, HAS_PYTHON, printedByPython } from "./interpreters.ts";

const absent = HAS_PYTHON ? "" : " (there is no python3 here)";

describe.skipIf(!HAS_PYTHON)(`CPython agrees${absent}`, () => {
  test("with scope-resolution", () => {
    const drawn = drawnOf<Answer<ScopeProblem>>(scopeResolution);
    expect(printedByPython(drawn.map(({ problem }) => scopeSource(problem.body)))).toEqual(
      drawn.map(({ items }) => items),
    );
  });

  test("with match-arm-counts, by its match statement (from 3.10 on)", ({ skip }) => {
    const [version = ""] = printedByPython(["import sys\nprint(sys.version_info >= (3, 10))"])[0] ?? [];
    if (version !== "True") skip("this python3 has no match statement");
    const literal = (value: Value): string =>
      typeof value === "string" ? `"${value}"` : `(${value.map(literal).join(", ")})`;
    const drawn = drawnOf<Answer<MatchProblem>>(matchArmCounts);
    const sources = drawn.map(({ problem }) => {
      const matched = matchSource(problem.arms).replaceAll(/^/gmu, "    ");
      return `counts = [0] * ${problem.arms.length + 1}
for v in [${valuesOf(problem.shape).map(literal).join(", ")}]:
    arm = 0
${matched}
    counts[arm - 1] += 1
for count in counts: print(count)`;
    });
    expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
  });

  test("with weakest-precondition at random points", () => {
    const drawn = drawnOf<Answer<PreconditionProblem>>(weakestPrecondition);
    const sources = drawn.map(({ problem, items }) => {
      const before = `${problem.names.map((name, index) => `${items[index]} * ${name}`).join(" + ")} >= ${items.at(-1)}`;
      return `import random
random.seed(1)
names, seen = ${JSON.stringify(problem.names)}, set()
for _ in range(300):
    state = {name: random.randint(-60, 60) for name in names}
    expected = eval(${JSON.stringify(before)}, dict(state))
    exec(${JSON.stringify(preconditionSource(problem))}, {}, state)
    seen.add(eval(${JSON.stringify(conditionText(problem))}, {}, state) == expected)
print(seen)`;
    });
    for (const lines of printedByPython(sources)) expect(lines).toEqual(["{True}"]);
  });
});

describe("principal-type", () => {
  const name = (one: string): Term => ({ is: "name", name: one });
  const call = (of: Term, ...on: Term[]): Term =>
    on.reduce<Term>((made, one) => ({ is: "call", of: made, on: one }), of);
  const fun = (names: string, body: Term): Term =>
    names.split("").reduceRight<Term>((inner, one) => ({ is: "fun", name: one, body: inner }), body);
  const [f, g, x, y] = [name("f"), name("g"), name("x"), name("y")];
  const identity = fun("x", x);

  test.each<[string, Term, string]>([
    ["K", fun("xy", x), "a -> b -> a"],
    ["S", fun("fgx", call(f, x, call(g, x))), "(a -> b -> c) -> (a -> b) -> a -> c"],
    ["B", fun("fgx", call(f, call(g, x))), "(a -> b) -> (c -> a) -> c -> b"],
    ["C", fun("fxy", call(f, y, x)), "(a -> b -> c) -> b -> a -> c"],
    ["W", fun("fx", call(f, x, x)), "(a -> a -> b) -> a -> b"],
    ["twice", fun("fx", call(f, call(f, x))), "(a -> a) -> a -> a"],
    ["swap", fun("x", { is: "pair", left: { is: "second", of: x }, right: { is: "first", of: x } }), "a * b -> b * a"],
    [
      "a polymorphic let",
      fun("x", {
        is: "let",
        name: "f",
        value: identity,
        body: { is: "pair", left: call(f, x), right: call(f, { is: "number", value: 1 }) },
      }),
      "a -> a * int",
    ],
    [
      "a let that is applied to itself",
      fun("x", { is: "let", name: "f", value: fun("y", y), body: call(f, f, x) }),
      "a -> a",
    ],
  ])("%s has its textbook type", (_, term, type) => {
    const found = typeOf(term);
    expect(found === null ? null : normalised(typeText(found.type))).toBe(normalised(type));
  });

  test.each<[string, Term]>([
    ["self-application", fun("x", call(x, x))],
    [
      "a parameter at two types",
      fun("f", { is: "pair", left: call(f, { is: "number", value: 1 }), right: call(f, f) }),
    ],
  ])("%s has none", (_, term) => {
    expect(typeOf(term)).toBeNull();
  });

  test.each([
    ["x -> (y -> x)", "a -> b -> a"],
    ["('b)", "a"],
    ["((p -> q) -> p)", "(a -> b) -> a"],
    ["a -> ", null],
    ["a b", null],
    ["bool", null],
    ["a -> b) -> c", null],
  ])("the answer %s is read as %s", (text, type) => {
    expect(normalised(text)).toBe(type);
  });

  test("a more special type scores nothing", () => {
    expect(principalType.score({ type: "a -> b -> a" }, "u -> v -> u")).toBe(1);
    expect(principalType.score({ type: "a -> b -> a" }, "a -> a -> a")).toBe(0);
  });
});

test("liveness: a path to a read without an assignment before it exists exactly for the gold names", () => {
  for (const { problem, items } of drawnOf<Answer<LivenessProblem>>(liveness)) {
    const { code, lines } = problem;
    const all = new Set(
      code.flatMap((one) => (one.do === "set" ? [one.name, ...one.reads] : one.do === "jump" ? [] : one.reads)),
    );
    const isLive = (name: string, from: number): boolean => {
      const seen = new Set<number>();
      const open = [from];
      for (let line = open.pop(); line !== undefined; line = open.pop()) {
        const one = code[line - 1];
        if (one === undefined || seen.has(line)) continue;
        seen.add(line);
        if (one.do !== "jump" && one.reads.includes(name)) return true;
        if (one.do === "set" && one.name === name) continue;
        if (one.do === "branch" || one.do === "jump") open.push(one.to);
        if (one.do === "branch" || one.do === "set") open.push(line + 1);
      }
      return false;
    };
    const found = lines.map((line) =>
      [...all]
        .filter((name) => isLive(name, line))
        .toSorted()
        .join(" "),
    );
    expect(found).toEqual(items);
  }
});

test("null-flow: a search over lines and states of the shown text finds the same failing uses", () => {
  for (const { problem, items } of drawnOf<Answer<NullProblem>>(nullFlow)) {
    const text = nullSource(problem)
      .split("\n")
      .map((line) => line.replace(/^\d+: */u, ""));
    /** Of each opening line its closing one, and back. */
    const [ends, begins, stack] = [new Map<number, number>(), new Map<number, number>(), [] as number[]];
    for (const [index, line] of text.entries()) {
      if (line.startsWith("}")) {
        const begin = stack.pop() ?? -1;
        ends.set(begin, index);
        begins.set(index, begin);
      }
      if (line.endsWith("{")) stack.push(index);
    }
    const failing = new Set<string>();
    const seen = new Set<string>();
    const open: [number, string][] = [[1, ""]];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const [at, state] = next;
      const line = text[at];
      if (line === undefined || line === "return;" || seen.has(next.join())) continue;
      seen.add(next.join());
      const go = (to: number, then = state): unknown => open.push([to, then]);
      const without = (name: string): string => state.replaceAll(name, "");
      const end = ends.get(at) ?? at;
      const guard = /^if \((\w) (==|!=) null\)/u.exec(line);
      const use = /^(\w)\.use/u.exec(line);
      const set = /^(\w) = (.*);$/u.exec(line);
      if (guard !== null) go(state.includes(guard[1] ?? "") === (guard[2] === "!=") ? at + 1 : end + 1);
      else if (line.endsWith("maybe()) {")) {
        go(at + 1);
        go(end + 1);
      } else if (line === "} else {") go(end + 1);
      else if (line === "}") {
        const begin = begins.get(at) ?? 0;
        go(text[begin]?.startsWith("while") === true ? begin : at + 1);
      } else if (use !== null) {
        if (state.includes(use[1] ?? "")) go(at + 1);
        else failing.add(String(at + 1));
      } else if (set !== null) {
        const [, name = "", value = ""] = set;
        const isObject = value === "new Thing()" || value === "find()" || state.includes(value);
        if (isObject) go(at + 1, [...new Set(`${state}${name}`.split(""))].toSorted().join(""));
        if (!isObject || value === "find()") go(at + 1, without(name));
      }
    }
    expect([...failing].toSorted()).toEqual(items.toSorted());
  }
});

test("immediate-dominators: without the named block its child cannot be reached, without another one both or none can", () => {
  for (const { problem, items } of drawnOf<Answer<FlowGraphProblem>>(immediateDominators)) {
    const { names, next } = problem;
    const reached = (without: number): Set<number> => {
      const seen = new Set(without === 0 ? [] : [0]);
      for (const block of seen) for (const to of next[block] ?? []) if (to !== without) seen.add(to);
      return seen;
    };
    const strict = names.map((_, block) =>
      names.flatMap((__, other) => (other !== block && !reached(other).has(block) ? [other] : [])),
    );
    const found = names.slice(1).map((_, index) => {
      const all = strict[index + 1] ?? [];
      return names[all.find((one) => all.every((other) => other === one || (strict[one] ?? []).includes(other))) ?? -1];
    });
    expect(found).toEqual(items);
  }
});
