/** Schedules, registers, suites, policies and matrices, read from their prompts: what other searches find is accepted, what they refuse is refused. */
import { expect, test } from "vitest";

import { instructionSchedule } from "../../../../../../ts/environments/catalogue/code/compiling/instruction-schedule.ts";
import { registerAssignment } from "../../../../../../ts/environments/catalogue/code/compiling/register-assignment.ts";
import { jobMatrix } from "../../../../../../ts/environments/catalogue/code/configuration/job-matrix.ts";
import { policyEvaluation } from "../../../../../../ts/environments/catalogue/code/configuration/policy-evaluation.ts";
import { pairwiseSuite } from "../../../../../../ts/environments/catalogue/code/testing/pairwise-suite.ts";
import { passingTestOrder } from "../../../../../../ts/environments/catalogue/code/testing/passing-test-order.ts";
import { sample, shuffled } from "../../../../../../ts/random/draws.ts";
import { createRng } from "../../../../../../ts/random/rng.ts";
import { expectRight, expectVerdict, first, found, posed } from "../../../../../support/catalogue/posed.ts";

/** Changed answers of an instance, on which both verdicts are compared. */
const CHANGED = 12;

test("instruction-schedule: the machine is run cycle by cycle; an order is found by depth first search", () => {
  const rng = createRng(1);
  for (const one of posed(instructionSchedule)) {
    const instructions = new Map(
      found(one.prompt, /^(i\d+): latency (\d+)(?:, reads (.*))?$/).map(([name = "", latency, reads = ""]) => [
        name,
        { latency: Number(latency), reads: reads === "" ? [] : reads.split(" and ") },
      ]),
    );
    const [budget] = first(one.prompt, /(\d+) cycles (?:at the latest|may pass|or less|\(answer)/);
    const most = Number(budget);
    const names = [...instructions.keys()];
    /** The cycle in which everything is there; Infinity for an order that never goes on. */
    const cyclesOf = (order: readonly string[]): number => {
      const there = new Map<string, number>();
      const waiting = [...order];
      let last = 0;
      for (let cycle = 0; waiting.length > 0; cycle++) {
        const [next = ""] = waiting;
        const { latency = 0, reads = [] } = instructions.get(next) ?? {};
        if (reads.some((read) => !there.has(read))) return Infinity;
        if (reads.some((read) => (there.get(read) ?? 0) > cycle)) continue;
        waiting.shift();
        there.set(next, cycle + latency);
        last = Math.max(last, cycle + latency);
      }
      return last;
    };
    // The longest chain of latencies from an instruction on.
    const chains = new Map<string, number>();
    const chain = (name: string): number => {
      const readers = names.filter((other) => instructions.get(other)?.reads.includes(name));
      const length = chains.get(name) ?? (instructions.get(name)?.latency ?? 0) + Math.max(0, ...readers.map(chain));
      chains.set(name, length);
      return length;
    };
    // Beginnings that led nowhere: what has started, and how long its results take from here.
    const dead = new Set<string>();
    const search = (order: readonly string[], there: ReadonlyMap<string, number>, cycle: number): string[] | null => {
      if (order.length === names.length) return [...order];
      const key = `${cycle} ${[...there]
        .map(([name, time]) => `${name} ${Math.max(time, cycle)}`)
        .toSorted()
        .join()}`;
      if (dead.has(key)) return null;
      const ready = names
        .filter((name) => !there.has(name) && instructions.get(name)?.reads.every((read) => there.has(read)))
        .toSorted((a, b) => chain(b) - chain(a));
      for (const name of ready) {
        const { latency = 0, reads = [] } = instructions.get(name) ?? {};
        const start = Math.max(cycle, ...reads.map((read) => there.get(read) ?? 0));
        if (start + chain(name) > most) continue;
        const deeper = search([...order, name], new Map([...there, [name, start + latency]]), start + 1);
        if (deeper !== null) return deeper;
      }
      dead.add(key);
      return null;
    };
    const best = search([], new Map(), 0) ?? [];
    expectRight(one, best.join(", "));
    for (let turn = 0; turn < CHANGED; turn++) {
      const order = [...best];
      for (const [a = 0, b = 0] of [sample(names.keys(), 2, rng), sample(names.keys(), 2, rng)].slice(turn % 2))
        [order[a], order[b]] = [order[b] ?? "", order[a] ?? ""];
      expectVerdict(one, order.join(", "), cyclesOf(order) <= most);
    }
    expectVerdict(one, names.join(", "), cyclesOf(names) <= most);
  }
});

test("register-assignment: lifetimes are intervals of lines; registers are tried value by value", () => {
  const rng = createRng(2);
  for (const one of posed(registerAssignment)) {
    const [inputs = []] = found(one.prompt, /^live at the beginning: (.*)$/).map(([list = ""]) => list.split(", "));
    const [outputs = []] = found(one.prompt, /^live at the end: (.*)$/).map(([list = ""]) => list.split(", "));
    const lines = found(one.prompt, /^(\w+) = (?:op\((.*)\)|(\w+))$/).map(
      ([target = "", sources = "", copied = ""]) => ({
        target,
        sources: copied === "" ? sources.split(", ") : [copied],
        isCopy: copied !== "",
      }),
    );
    const [registers] = first(one.prompt, /the registers r1 to r(\d)/);
    const fixed = new Map(found(one.prompt, /(\w+) must be in r(\d)/).map(([name = "", home]) => [name, Number(home)]));
    const [least] = first(one.prompt, /At least (\d+) of the copies/);
    const names = [...inputs, ...lines.map(({ target }) => target)];
    const lastUse = (name: string): number =>
      outputs.includes(name) ? Infinity : lines.findLastIndex(({ sources }) => sources.includes(name));
    const birth = (name: string): number => lines.findIndex(({ target }) => target === name);
    const conflicts = (early: string, late: string): boolean => {
      const line = birth(late);
      if (line < 0) return true; // Both are inputs.
      const { isCopy = false, sources = [] } = lines[line] ?? {};
      return lastUse(early) > line && !(isCopy && sources.includes(early));
    };
    const isRight = (home: ReadonlyMap<string, number>): boolean =>
      names.every(
        (late, place) =>
          (home.get(late) ?? 0) >= 1 &&
          (home.get(late) ?? 9) <= Number(registers) &&
          (fixed.get(late) ?? home.get(late)) === home.get(late) &&
          !names.slice(0, place).some((early) => home.get(early) === home.get(late) && conflicts(early, late)),
      ) &&
      lines.filter(({ target, sources: [from = ""], isCopy }) => isCopy && home.get(from) === home.get(target))
        .length >= Number(least);
    const search = (home: ReadonlyMap<string, number>, missed: number): Map<string, number> | null => {
      const name = names[home.size];
      if (name === undefined) return new Map(home);
      const { isCopy = false, sources: [from = ""] = [] } = lines[birth(name)] ?? {};
      const liked = isCopy ? home.get(from) : undefined;
      const order = Array.from({ length: Number(registers) }, (_, index) => index + 1);
      for (const register of order.toSorted((a, b) => Number(b === liked) - Number(a === liked))) {
        if ((fixed.get(name) ?? register) !== register) continue;
        const lost = missed + Number(isCopy && register !== liked);
        if (lines.filter((line) => line.isCopy).length - lost < Number(least)) continue;
        if ([...home].some(([early, used]) => used === register && conflicts(early, name))) continue;
        const deeper = search(new Map([...home, [name, register]]), lost);
        if (deeper !== null) return deeper;
      }
      return null;
    };
    const home = search(new Map(), 0) ?? new Map<string, number>();
    const written = (some: ReadonlyMap<string, number>): string =>
      names.map((name) => `${name}=r${some.get(name)}`).join(", ");
    expectRight(one, written(home));
    for (let turn = 0; turn < CHANGED; turn++) {
      const changed = new Map(home);
      for (const name of sample(names, 1 + (turn % 2), rng)) changed.set(name, 1 + rng.integer(Number(registers) + 1));
      expectVerdict(one, written(changed), isRight(changed));
    }
    // All registers are renamed but the fixed ones stay wrong.
    const turned = new Map([...home].map(([name, register]) => [name, (register % Number(registers)) + 1]));
    expectVerdict(one, written(turned), isRight(turned));
  }
});

test("passing-test-order: sets of tests that have run are searched with the state that they leave", () => {
  const rng = createRng(3);
  for (const one of posed(passingTestOrder)) {
    const pairsIn = (text: string): string[][] => found(text, /(\w+) = (\d+)/);
    const start = new Map(
      pairsIn(first(one.prompt, /^At first (.*)\.$/)[0] ?? "").map(([name = "", value = ""]) => [name, value]),
    );
    const tests = new Map(
      found(one.prompt, /^(t\d+) (.*)$/).map(([name = "", text = ""]) => {
        const part = (verb: string): string => text.split("; ").find((words) => words.startsWith(verb)) ?? "";
        return [name, { needs: pairsIn(part("needs")), sets: pairsIn(part("sets")) }];
      }),
    );
    type State = ReadonlyMap<string, string>;
    const after = (state: State, name: string): State | null => {
      const { needs = [], sets = [] } = tests.get(name) ?? {};
      if (needs.some(([variable = "", value]) => state.get(variable) !== value)) return null;
      return new Map([...state, ...sets.map(([variable = "", value = ""]) => [variable, value] as const)]);
    };
    const dead = new Set<string>();
    const search = (state: State, ran: readonly string[]): readonly string[] | null => {
      if (ran.length === tests.size) return ran;
      const key = `${ran.toSorted().join()} ${[...state].join()}`;
      if (dead.has(key)) return null;
      for (const name of tests.keys()) {
        const next = ran.includes(name) ? null : after(state, name);
        const deeper = next === null ? null : search(next, [...ran, name]);
        if (deeper !== null) return deeper;
      }
      dead.add(key);
      return null;
    };
    const order = search(start, []) ?? [];
    expectRight(one, order.join(", "));
    for (let turn = 0; turn < CHANGED; turn++) {
      const changed = [...order];
      const [a = 0, b = 0] = sample(order.keys(), 2, rng);
      [changed[a], changed[b]] = [changed[b] ?? "", changed[a] ?? ""];
      const end = changed.reduce<State | null>((state, name) => (state === null ? null : after(state, name)), start);
      expectVerdict(one, changed.join(", "), end !== null);
    }
  }
});

test("pairwise-suite: pairs without a row get one, the scarcest first, among all rows that are allowed", () => {
  const rng = createRng(4);
  for (const one of posed(pairwiseSuite)) {
    const options = found(one.prompt, /^option \d: (.*)$/).map(([values = ""]) => values.split(", "));
    const excluded = found(one.prompt, /^(\w+) excludes (\w+)$/);
    const [budget] = first(one.prompt, /(?:at most|budget of|;|no more than) (\d+) (?:configurations|runs|must|rows)/);
    const isExcluded = (values: readonly string[]): boolean =>
      excluded.some(([a = "", b = ""]) => values.includes(a) && values.includes(b));
    const rows = options
      .reduce<string[][]>((made, values) => made.flatMap((row) => values.map((value) => [...row, value])), [[]])
      .filter((row) => !isExcluded(row));
    const wanted = options.flatMap((values, place) =>
      options.slice(place + 1).flatMap((others) => values.flatMap((a) => others.map((b) => [a, b]))),
    );
    const holds = (row: readonly string[], [a = "", b = ""]: readonly string[]): boolean =>
      row.includes(a) && row.includes(b);
    const isRight = (suite: readonly (readonly string[])[]): boolean =>
      suite.length <= Number(budget) &&
      suite.every(
        (row) =>
          row.length === options.length &&
          row.every((value, place) => options[place]?.includes(value)) &&
          !isExcluded(row),
      ) &&
      wanted.every((pair) => isExcluded(pair) || suite.some((row) => holds(row, pair)));
    let suite: string[][] = [];
    for (let tries = 0; tries < 500 && !isRight(suite); tries++) {
      suite = [];
      let missing = wanted.filter((pair) => !isExcluded(pair));
      while (missing.length > 0) {
        const gains = shuffled(rows, rng).map((row) => ({ row, left: missing.filter((pair) => !holds(row, pair)) }));
        const { row, left } = gains.reduce((a, b) => (b.left.length < a.left.length ? b : a));
        suite.push(row);
        missing = left;
      }
    }
    const written = (some: readonly (readonly string[])[]): string => some.map((row) => row.join(" ")).join("\n");
    expectRight(one, written(suite));
    for (let turn = 0; turn < CHANGED; turn++) {
      const changed = suite.map((row) => [...row]);
      const [row = [], other = []] = sample(changed, 2, rng);
      const place = rng.integer(options.length);
      if (turn % 3 === 0) changed.splice(rng.integer(changed.length), 1);
      else if (turn % 3 === 1) row[place] = rng.pick(options[place] ?? [""]);
      else [row[place], other[place]] = [other[place] ?? "", row[place] ?? ""];
      expectVerdict(one, written(changed), isRight(changed));
    }
    expectVerdict(one, written([...suite, ...shuffled(rows, rng).slice(0, 1 + Number(budget) - suite.length)]), false);
  }
});

test("policy-evaluation: denials, boundaries, grants of resources and others are asked one after the other", () => {
  for (const one of posed(policyEvaluation)) {
    const groups = new Map(
      found(one.prompt, /^Group (\w+): (.*)\.$/).map(([name = "", members = ""]) => [name, members.split(", ")]),
    );
    const statements = found(
      one.prompt,
      /^(\d+)\. \((user|group|resource|boundary of) (\S+)\) (allow|deny) (\S+)(?: on (\S+))?( from inside)?$/,
    ).map(([number = "", kind = "", of = "", effect = "", action = "", on = "", inside = ""]) => ({
      number,
      kind,
      of,
      effect,
      action,
      on: on === "" ? of : on,
      inside: inside !== "",
    }));
    /** The parts between the stars occur in their order. */
    const fits = (pattern: string, text: string): boolean => {
      if (pattern === "") return text === "";
      if (!pattern.startsWith("*"))
        return pattern.charAt(0) === text.charAt(0) && fits(pattern.slice(1), text.slice(1));
      return Array.from({ length: text.length + 1 }, (_, from) => text.slice(from)).some((rest) =>
        fits(pattern.slice(1), rest),
      );
    };
    const requests = found(one.prompt, /^[a-z]\) (\w+): (\S+) on (\S+) from (inside|outside)$/);
    const decisions = requests.map(([user = "", action = "", resource = "", place = ""]) => {
      const applies = (statement: (typeof statements)[number]): boolean => {
        const isTheirs =
          statement.kind === "resource"
            ? statement.of === resource
            : statement.kind === "group"
              ? groups.get(statement.of)?.includes(user) === true
              : statement.of === user;
        return (
          isTheirs &&
          fits(statement.action, action) &&
          fits(statement.on, resource) &&
          !(statement.inside && place === "outside")
        );
      };
      const limits = statements.filter(({ kind, of }) => kind === "boundary of" && of === user);
      const grants = (isOfResource: boolean): string | undefined =>
        statements.find(
          (each) =>
            each.kind !== "boundary of" &&
            each.effect === "allow" &&
            (each.kind === "resource") === isOfResource &&
            applies(each),
        )?.number;
      const denial = statements.find((each) => each.effect === "deny" && applies(each));
      if (denial !== undefined) return denial.number;
      if (limits.length > 0 && !limits.some(applies)) return "none";
      return grants(true) ?? grants(false) ?? "none";
    });
    expect(statements.length * requests.length).toBeGreaterThan(0);
    expectRight(one, decisions.join(", "));
  }
});

test("job-matrix: the jobs are counted like an odometer, and every include item is looked up for each of them", () => {
  for (const one of posed(jobMatrix)) {
    const entriesIn = (text: string): [string, string][] =>
      found(text, /(\w+): "([^"]*)"/).map(([name = "", value = ""]) => [name, value]);
    const axes = found(one.prompt, /^(\w+): \[(.*)\]$/).map(([name = "", list = ""]): [string, string[]] => [
      name,
      found(list, /"([^"]*)"/).map(([value = ""]) => value),
    ]);
    const [excluded = [], included = []] = ["exclude", "include"].map((kind) => {
      const [block = ""] = found(one.prompt, new RegExp(`^${kind}:\\n((?:  - .*\\n?)*)`))[0] ?? [];
      return block
        .split("\n")
        .filter((line) => line !== "")
        .map(entriesIn);
    });
    const total = axes.reduce((product, [, values]) => product * values.length, 1);
    const taken = new Set<number>();
    const jobs: Map<string, string>[] = [];
    for (let number = 0; number < total; number++) {
      let rest = number;
      const combination = new Map<string, string>();
      for (const [name, values] of axes.toReversed()) {
        combination.set(name, values[rest % values.length] ?? "");
        rest = Math.floor(rest / values.length);
      }
      if (excluded.some((item) => item.every(([name, value]) => combination.get(name) === value))) continue;
      const job = new Map(combination);
      for (const [index, item] of included.entries()) {
        if (item.some(([name, value]) => combination.has(name) && combination.get(name) !== value)) continue;
        taken.add(index);
        for (const [name, value] of item) job.set(name, value);
      }
      jobs.push(job);
    }
    for (const [index, item] of included.entries()) if (!taken.has(index)) jobs.push(new Map(item));
    const lines = jobs.map((job) =>
      [...job]
        .map(([name, value]) => `${name}=${value}`)
        .toSorted()
        .join(" "),
    );
    expectRight(one, lines.join("\n"));
  }
});
