/** Beliefs, circuits, rules, pegs and debates, read from their prompts and solved by other methods than those of the rows. */
import { expect, test } from "vitest";

import { skepticalArguments } from "../../../../../ts/environments/catalogue/logic/choices/skeptical-arguments.ts";
import { hoppingPegs } from "../../../../../ts/environments/catalogue/logic/planning/hopping-pegs.ts";
import { closestRevision } from "../../../../../ts/environments/catalogue/logic/structures/closest-revision.ts";
import { doubleFaultPairs } from "../../../../../ts/environments/catalogue/logic/structures/double-fault-pairs.ts";
import { overrideRules } from "../../../../../ts/environments/catalogue/logic/structures/override-rules.ts";
import { expectRight, fields, first, found, posed } from "../../../../support/catalogue/posed.ts";

/** The highest number behind the letter. */
function highest(prompt: string, letter: string): number {
  return Math.max(...found(prompt, new RegExp(`\\b${letter}(\\d+)\\b`)).map(([number]) => Number(number)));
}

test("closest-revision: from the states of the old beliefs, facts are flipped one more at a time until the report holds", () => {
  for (const one of posed(closestRevision)) {
    const count = highest(one.prompt, "F");
    const blocks = found(one.prompt, /((?:^- .*\n?)+)/).map(([block = ""]) =>
      block
        .trim()
        .split("\n")
        .map((line) => line.slice(2).split(" or ")),
    );
    expect(blocks).toHaveLength(2);
    const [beliefs = [], report = []] = one.prompt.includes("must accept") ? blocks.toReversed() : blocks;
    // A state is a text of T and F.
    const holds = (state: string, literal: string): boolean =>
      (state.charAt(Number(literal.replace("not F", "").replace("F", "")) - 1) === "T") !== literal.startsWith("not");
    const satisfies = (state: string, clauses: readonly string[][]): boolean =>
      clauses.every((clause) => clause.some((literal) => holds(state, literal)));
    let layer = new Set([""]);
    for (let fact = 0; fact < count; fact++) layer = new Set([...layer].flatMap((state) => [`${state}T`, `${state}F`]));
    layer = new Set([...layer].filter((state) => satisfies(state, beliefs)));
    let possible: string[] = [];
    for (let distance = 0; distance <= count && possible.length === 0; distance++) {
      possible = [...layer].filter((state) => satisfies(state, report));
      const flipped = (state: string, fact: number): string =>
        state.slice(0, fact) + (state.charAt(fact) === "T" ? "F" : "T") + state.slice(fact + 1);
      layer = new Set([
        ...layer,
        ...[...layer].flatMap((state) => Array.from({ length: count }, (_, fact) => flipped(state, fact))),
      ]);
    }
    const status = (fact: number): string => {
      const marks = new Set(possible.map((state) => state.charAt(fact)));
      return marks.size > 1 ? "open" : marks.has("T") ? "true" : "false";
    };
    expectRight(one, fields(Array.from({ length: count }, (_, fact) => [`F${fact + 1}`, status(fact)] as const)));
  }
});

test("double-fault-pairs: all measurements run through the gates at once, as bits of a number", () => {
  for (const one of posed(doubleFaultPairs)) {
    const gates = found(one.prompt, /^(G\d+) = (\w+) (AND|OR|XOR|NAND|NOR) (\w+)$/);
    const outputs = first(one.prompt, /^Outputs: (.*)$/)[0]?.split(", ") ?? [];
    const measured = found(one.prompt, /^(x1=.*) gave (.*)$/);
    const all = 2 ** measured.length - 1;
    const bitsOf = (name: string, side: number): number =>
      measured.reduce(
        (bits, sides, place) => bits | (sides[side]?.split(" ").includes(`${name}=1`) ? 1 << place : 0),
        0,
      );
    const explains = (...broken: string[]): boolean => {
      const known = new Map<string, number>();
      const wire = (name: string): number => {
        const held = known.get(name);
        if (held !== undefined) return held;
        const [, left = "", kind = "", right = ""] = gates.find(([gate]) => gate === name) ?? [];
        if (kind === "") return bitsOf(name, 0);
        const [a, b] = [wire(left), wire(right)];
        const plain = { AND: a & b, OR: a | b, XOR: a ^ b, NAND: all ^ (a & b), NOR: all ^ (a | b) }[kind] ?? 0;
        const value = broken.includes(name) ? all ^ plain : plain;
        known.set(name, value);
        return value;
      };
      return outputs.every((output) => wire(output) === bitsOf(output, 1));
    };
    const names = gates.map(([gate = ""]) => gate);
    const pairs = names.flatMap((a, place) =>
      names.slice(place + 1).flatMap((b) => (explains(a, b) ? [`${b}-${a}`] : [])),
    );
    expectRight(one, pairs.join(", "));
  }
});

test("override-rules: a proposition is judged when it is asked for", () => {
  for (const one of posed(overrideRules)) {
    const rules = found(one.prompt, /^(R\d+): if (.*) then (not )?(C\d+)\.$/).map(
      ([rule = "", needs = "", not = "", about = ""]) => ({
        rule,
        needs: needs.split(" and "),
        isAgainst: not !== "",
        about,
      }),
    );
    const overrides = new Set(found(one.prompt, /^(R\d+) overrides (R\d+)\.$/).map((pair) => pair.join(" ")));
    const facts = new Set(first(one.prompt, /The facts are (C.*?)\./)[0]?.split(", "));
    const known = new Map<string, boolean>();
    const stands = (proposition: string): boolean => {
      const before = known.get(proposition);
      if (facts.has(proposition) || before !== undefined) return before ?? true;
      const applicable = rules.filter(({ about, needs }) => about === proposition && needs.every(stands));
      const [against, pro] = [true, false].map((side) => applicable.filter(({ isAgainst }) => isAgainst === side));
      const verdict =
        pro !== undefined &&
        pro.length > 0 &&
        !against?.some((con) => !pro.some(({ rule }) => overrides.has(`${rule} ${con.rule}`)));
      known.set(proposition, verdict);
      return verdict;
    };
    const propositions = new Set(rules.map(({ about }) => about));
    expectRight(one, [...propositions].filter((name) => !facts.has(name) && stands(name)).join(" "));
  }
});

test("hopping-pegs: a search in depth finds a way; a peg less in the goal, a diagonal and a long jump are refused", () => {
  for (const one of posed(hoppingPegs)) {
    const rows = found(one.prompt, /^([o.#]{4,})$/).map(([row = ""]) => row);
    const [goal = ""] = first(one.prompt, /one peg is left, in (\w\d)\./);
    const start = new Map(
      rows.flatMap((row, y) => row.split("").map((mark, x) => [`${"abcdef".charAt(x)}${y + 1}`, mark] as const)),
    );
    const beside = (name: string, x: number, y: number): string =>
      `${String.fromCodePoint((name.codePointAt(0) ?? 0) + x)}${Number(name.slice(1)) + y}`;
    const dead = new Set<string>();
    const solve = (board: ReadonlyMap<string, string>, end: (last: string) => boolean): string[] | null => {
      const pegs = [...board].filter(([, mark]) => mark === "o").map(([name]) => name);
      if (pegs.length === 1) return end(pegs[0] ?? "") ? [] : null;
      if (dead.has(pegs.join())) return null;
      for (const peg of pegs)
        for (const [x, y] of [
          [0, 1],
          [1, 0],
          [0, -1],
          [-1, 0],
        ] as const) {
          const [over, to] = [beside(peg, x, y), beside(peg, 2 * x, 2 * y)];
          if (board.get(over) !== "o" || board.get(to) !== ".") continue;
          const rest = solve(new Map([...board, [peg, "."], [over, "."], [to, "o"]]), end);
          if (rest !== null) return [`${peg} ${to}`, ...rest];
        }
      dead.add(pegs.join());
      return null;
    };
    const plan = solve(start, (last) => last === goal) ?? [];
    expectRight(one, plan.join("\n"));
    expect(plan).toHaveLength([...start.values()].filter((mark) => mark === "o").length - 1);
    dead.clear();
    const other = solve(start, (last) => last !== goal);
    const [jump = ""] = plan;
    const wrong = [
      ...(other === null ? [] : [other]),
      [...plan.slice(0, -1), "a1 b3"],
      [jump.split(" ").toReversed().join(" "), ...plan.slice(1)],
      [jump, ...plan],
    ];
    for (const steps of wrong) expect(one.score(steps.join("\n")), `${steps.join(", ")} of\n${one.prompt}`).toBe(0);
  }
});

test("skeptical-arguments: positions are built argument by argument, and dropped where one attacks another", () => {
  for (const one of posed(skepticalArguments)) {
    const attacks = new Set(found(one.prompt, /(A\d+) attacks (A\d+)\./).map((pair) => pair.join(" ")));
    const names = Array.from({ length: highest(one.prompt, "A") }, (_, index) => `A${index + 1}`);
    const attacksAny = (from: string, all: readonly string[]): boolean =>
      all.some((to) => attacks.has(`${from} ${to}`));
    const positions: string[][] = [];
    const extend = (place: number, inside: readonly string[]): void => {
      const name = names[place];
      if (name === undefined) {
        const out = names.filter((other) => !inside.includes(other));
        if (out.every((other) => inside.some((from) => attacks.has(`${from} ${other}`)))) positions.push([...inside]);
        return;
      }
      extend(place + 1, inside);
      const isAttacked = inside.some((from) => attacks.has(`${from} ${name}`));
      if (!isAttacked && !attacksAny(name, inside)) extend(place + 1, [...inside, name]);
    };
    extend(0, []);
    const classOf = (name: string): string => {
      const times = positions.filter((position) => position.includes(name)).length;
      return times === 0 ? "none" : times === positions.length ? "all" : "some";
    };
    expectRight(one, fields(names.map((name) => [name, classOf(name)] as const)));
  }
});
