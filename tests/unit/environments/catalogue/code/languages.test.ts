/** Answers of the rows about stages of languages against parsers, machines and evaluators that share nothing with the rows. */
import { expect, test } from "vitest";

import {
  type AssemblyProblem,
  branchRelaxation,
} from "../../../../../ts/environments/catalogue/code/languages/branch-relaxation.ts";
import {
  datalogAnswers,
  type LogProblem,
} from "../../../../../ts/environments/catalogue/code/languages/datalog-answers.ts";
import {
  firstFollowSets,
  type GrammarProblem,
} from "../../../../../ts/environments/catalogue/code/languages/first-follow-sets.ts";
import {
  type BracketProblem,
  minimalBrackets,
} from "../../../../../ts/environments/catalogue/code/languages/minimal-brackets.ts";
import { registerProgram } from "../../../../../ts/environments/catalogue/code/languages/register-program.ts";
import {
  templateRendering,
  type TemplateProblem,
} from "../../../../../ts/environments/catalogue/code/languages/template-rendering.ts";
import { type Answer, drawnOf, HAS_PYTHON, printedByPython } from "./interpreters.ts";

const withoutPython = HAS_PYTHON ? "" : " (there is no python3 here)";

/** The expression with all brackets, by precedence climbing; null where it is none. */
function bracketed(text: string, { operators, prefix }: BracketProblem): string | null {
  let place = 0;
  const primary = (): string | null => {
    const sign = text[place];
    place += 1;
    if (sign === "(") {
      const inner = climb(-1);
      place += 1;
      return text[place - 1] === ")" ? inner : null;
    }
    if (sign !== "~") return sign !== undefined && /[a-h]/u.test(sign) ? sign : null;
    const body = climb(prefix ?? 0);
    return body === null ? null : `(~${body})`;
  };
  const climb = (least: number): string | null => {
    let left = primary();
    let closed: number | null = null;
    for (;;) {
      const operator = operators.find(({ sign }) => sign === text[place]);
      if (operator === undefined || operator.rank < least || left === null) return left;
      if (operator.rank === closed) return null;
      place += 1;
      const right = climb(operator.side === "right" ? operator.rank : operator.rank + 0.5);
      if (right === null) return null;
      left = `(${left}${operator.sign}${right})`;
      closed = operator.side === "none" ? operator.rank : null;
    }
  };
  const found = climb(-1);
  return place === text.length ? found : null;
}

test("minimal-brackets: the text is parsed into the tree, and without any of its brackets it is not", () => {
  for (const { problem, items } of drawnOf<Answer<BracketProblem>>(minimalBrackets)) {
    const text = items[0] ?? "";
    const tree = bracketed(text, problem);
    expect(tree).toBe(`(${problem.full})`);
    for (const [open, sign] of text.split("").entries()) {
      if (sign !== "(") continue;
      let depth = 0;
      const close = text.split("").findIndex((other, index) => {
        if (index >= open) depth += Number(other === "(") - Number(other === ")");
        return index > open && depth === 0;
      });
      const bare = text.slice(0, open) + text.slice(open + 1, close) + text.slice(close + 1);
      expect(bracketed(bare, problem)).not.toBe(tree);
    }
  }
});

test("first-follow-sets: reachability between symbols gives the same sets", () => {
  for (const { problem, items } of drawnOf<Answer<GrammarProblem>>(firstFollowSets)) {
    const { rules } = problem;
    const names = Object.keys(rules);
    let empty: string[] = [];
    for (const _ of names)
      empty = names.filter((name) =>
        rules[name]?.some((one) => one.split("").every((symbol) => empty.includes(symbol))),
      );
    const reach = (from: string, edges: (symbol: string) => string[]): Set<string> => {
      const seen = new Set([from]);
      for (const symbol of seen) for (const next of edges(symbol)) seen.add(next);
      return seen;
    };
    /** Symbols with which a string can begin. */
    const starts = (one: string): string[] => {
      const stop = one.split("").findIndex((symbol) => !empty.includes(symbol));
      return one.slice(0, stop < 0 ? one.length : stop + 1).split("");
    };
    const firsts = (symbol: string): string[] =>
      [...reach(symbol, (name) => (rules[name] ?? []).flatMap(starts))].filter((token) => /[a-z]/u.test(token));
    const isEmpty = (one: string): boolean => one.split("").every((symbol) => empty.includes(symbol));
    const alternatives = names.flatMap((name) => (rules[name] ?? []).map((one) => ({ name, one })));
    const occurrences = alternatives.flatMap(({ name, one }) =>
      one.split("").map((symbol, place) => ({ name, symbol, rest: one.slice(place + 1) })),
    );
    const follows = (of: string): string[] => {
      const sources = reach(of, (symbol) =>
        occurrences.filter((one) => one.symbol === symbol && isEmpty(one.rest)).map(({ name }) => name),
      );
      const here = occurrences.filter(({ symbol }) => sources.has(symbol));
      return [...(sources.has("S") ? ["$"] : []), ...here.flatMap(({ rest }) => starts(rest).flatMap(firsts))];
    };
    const shown = (tokens: readonly string[]): string => [...new Set(tokens)].toSorted().join("");
    const conflicts = names.filter((name) => {
      const all = (rules[name] ?? []).map((one) => [
        ...new Set([...starts(one).flatMap(firsts), ...(isEmpty(one) ? follows(name) : [])]),
      ]);
      return new Set(all.flat()).size < all.flat().length;
    });
    expect(items).toEqual([
      ...names.map((name) => `FIRST(${name}) = ${shown(firsts(name))}${empty.includes(name) ? "~" : ""}`),
      ...names.map((name) => `FOLLOW(${name}) = ${shown(follows(name)) || "-"}`),
      `conflict = ${conflicts.join("") || "-"}`,
    ]);
  }
});

test("register-program: the code and the expression give the same whole numbers in JavaScript", () => {
  interface Compiled {
    readonly text: string;
    readonly names: string[];
    readonly registers: number;
    readonly most: number;
    readonly gold: string[];
  }
  for (const { text, names, registers, most, gold } of drawnOf<Compiled>(registerProgram)) {
    expect(gold.length).toBeLessThanOrEqual(most);
    const signs: Readonly<Record<string, string>> = { load: "=", add: "+=", sub: "-=", mul: "*=" };
    const body = gold.map((line) => {
      const [code = "", target = "", operand = ""] = line.split(/[ ,]+/u);
      return `${target} ${signs[code] ?? ""} ${operand};`;
    });
    const held = Array.from({ length: registers }, (_, index) => `r${index + 1}`);
    // oxlint-disable-next-line typescript/no-implied-eval -- the source is the instance's
    const both = new Function(...names, `let ${held.join(", ")};\n${body.join("\n")}\nreturn [r1, ${text}];`) as (
      ...values: readonly bigint[]
    ) => [bigint, bigint];
    const [code, value] = both(...names.map((_, index) => BigInt(7 + index * index * 11)));
    expect(code).toBe(value);
  }
});

test("branch-relaxation: lengthening one jump at a time ends with the same bytes", () => {
  for (const { problem, items } of drawnOf<Answer<AssemblyProblem>>(branchRelaxation)) {
    const { lines, origin, reach, shortCode, longCode } = problem;
    const sizes = lines.map((line) => (line.kind === "label" ? 0 : line.kind === "fill" ? line.count : 2));
    const start = (place: number): number => sizes.slice(0, place).reduce((sum, size) => sum + size, origin);
    const target = (name: string): number =>
      start(lines.findIndex((line) => line.kind === "label" && line.name === name));
    for (;;) {
      const far = lines.findLastIndex(
        (line, place) =>
          line.kind === "jump" && sizes[place] === 2 && Math.abs(target(line.to) - start(place) - 2) > reach,
      );
      if (far < 0) break;
      sizes[far] = 3;
    }
    const bytes = (...values: readonly number[]): string =>
      Buffer.from(values.map((value) => value & 255))
        .toString("hex")
        .replaceAll(/(..)(?=.)/gu, "$1 ");
    const jumps = lines.flatMap((line, place) => {
      if (line.kind !== "jump") return [];
      const to = target(line.to);
      return [
        sizes[place] === 3 ? bytes(longCode, to % 256, Math.floor(to / 256)) : bytes(shortCode, to - start(place) - 2),
      ];
    });
    const labels = lines.flatMap((line) => (line.kind === "label" ? [`${line.name}=${target(line.name)}`] : []));
    expect(items).toEqual([...labels, ...jumps]);
  }
});

test.skipIf(!HAS_PYTHON)(
  `datalog-answers: trying all constants for all variables derives the same${withoutPython}`,
  () => {
    const drawn = drawnOf<Answer<LogProblem>>(datalogAnswers, [1, 2]);
    const sources = drawn.map(
      ({ problem }) => `import itertools
problem = ${JSON.stringify(problem).replaceAll("true", "True").replaceAll("false", "False")}
known = {tuple(one) for one in problem["facts"] + problem["marks"]}
for head in dict.fromkeys(one["head"]["name"] for one in problem["rules"]):
    size = -1
    while size < len(known):
        size = len(known)
        for rule in problem["rules"]:
            if rule["head"]["name"] != head: continue
            names = sorted({term for one in rule["body"] for term in one["terms"]})
            for values in itertools.product(problem["constants"], repeat=len(names)):
                bound = dict(zip(names, values))
                fact = lambda one: (one["name"], *(bound[term] for term in one["terms"]))
                if all((fact(one) in known) != one["negated"] for one in rule["body"]): known.add(fact(rule["head"]))
print("\\n".join(one for one in problem["constants"] if ("goal", one) in known))`,
    );
    expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
  },
);

test.skipIf(!HAS_PYTHON)(
  `template-rendering: an engine in Python that replaces text from the outside in agrees${withoutPython}`,
  () => {
    const drawn = drawnOf<Answer<TemplateProblem>>(templateRendering);
    const engine = `import json, re
def close(text, name):
    depth, place = 1, 0
    for found in re.finditer(r"\\{\\{([#^/])" + name + r"\\}\\}", text):
        depth += -1 if found[1] == "/" else 1
        if depth == 0: return found
def look(name, stack):
    for one in reversed(stack):
        if name in one: return one[name]
def render(text, stack):
    found = re.search(r"\\{\\{([#^]?)(\\w+)\\}\\}", text)
    if found is None: return text
    value, rest = look(found[2], stack), text[found.end():]
    if found[1] == "": return text[:found.start()] + (value if isinstance(value, str) else "") + render(rest, stack)
    end = close(rest, found[2])
    inner, rest = rest[:end.start()], rest[end.end():]
    missing = value is None or value is False or value == []
    if found[1] == "^": middle = render(inner, stack) if missing else ""
    elif missing: middle = ""
    else:
        every = value if isinstance(value, list) else [value]
        middle = "".join(render(inner, stack + [one] if isinstance(one, dict) else stack) for one in every)
    return text[:found.start()] + middle + render(rest, stack)
`;
    const sources = drawn.map(
      ({ problem }) =>
        `${engine}data = json.loads(${JSON.stringify(JSON.stringify(problem.data))})\ntext = render(${JSON.stringify(problem.template.replaceAll("\n", ""))}, [data])\nprint("\\n".join(one for one in text.split(";") if one))`,
    );
    expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
  },
);
