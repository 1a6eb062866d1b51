/** Answers of the rows about compilers against definitions that are tried out on small programs. */
import { expect, test } from "vitest";

import {
  ambiguousString,
  type GrammarProblem,
} from "../../../../../ts/environments/catalogue/code/compiling/ambiguous-string.ts";
import {
  phiPlacement,
  type PhiProblem,
} from "../../../../../ts/environments/catalogue/code/compiling/phi-placement.ts";
import {
  pipelineCycles,
  type PipelineProblem,
} from "../../../../../ts/environments/catalogue/code/compiling/pipeline-cycles.ts";
import {
  pointsToSets,
  type PointsProblem,
} from "../../../../../ts/environments/catalogue/code/compiling/points-to-sets.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { type Answer, drawnOf } from "./interpreters.ts";

test("phi-placement: blocks at which paths from two assignments meet for the first time, found by listing the paths", () => {
  for (const { problem, items } of drawnOf<Answer<PhiProblem>>(phiPlacement, [1, 2])) {
    const { flow, assigned, names } = problem;
    const paths = (from: number, to: number, on: readonly number[] = [from]): number[][] =>
      (flow[from] ?? []).flatMap((next) => {
        if (next === to) return [[...on, next]];
        return on.includes(next) ? [] : paths(next, to, [...on, next]);
      });
    for (const [index, name] of names.entries()) {
      const defined = new Set(
        [0, ...flow.keys()].filter((block) => block === 0 || assigned[block]?.includes(name) === true),
      );
      const phis = new Set<number>();
      for (let size = -1; size < phis.size;) {
        size = phis.size;
        for (const block of flow.keys()) {
          const all = [...defined].flatMap((from) =>
            paths(from, block).map((path) => ({ from, path: path.slice(0, -1) })),
          );
          // Two paths from different assignments that share nothing but their end.
          const meets = all.some((one) =>
            all.some((other) => one.from !== other.from && !one.path.some((step) => other.path.includes(step))),
          );
          if (meets) phis.add(block);
        }
        for (const block of phis) defined.add(block);
      }
      const text = [...phis].toSorted((a, b) => a - b).map((block) => `B${block}`);
      expect(text.join(" ") || "-").toBe(items[index]);
    }
  }
});

test("points-to-sets: what random runs of the statements store is in the sets", () => {
  const rng = createRng(7);
  for (const { problem, items } of drawnOf<Answer<PointsProblem>>(pointsToSets)) {
    const seen = new Map(problem.asked.map((name) => [name, new Set<string>()]));
    for (let run = 0; run < 30; run++) {
      const memory = new Map<string, string>();
      for (let step = 0; step < 60; step++) {
        const { do: what, left, right } = rng.pick(problem.statements);
        const target = what === "store" ? memory.get(left) : left;
        const value =
          what === "address" ? right : what === "load" ? memory.get(memory.get(right) ?? "") : memory.get(right);
        if (target !== undefined && value !== undefined) memory.set(target, value);
        for (const [name, set] of seen) if (memory.has(name)) set.add(memory.get(name) ?? "");
      }
    }
    for (const [index, name] of problem.asked.entries())
      for (const one of seen.get(name) ?? []) expect(items[index]?.split(" ")).toContain(one);
  }
});

test("pipeline-cycles: a pipeline that is advanced cycle by cycle agrees", () => {
  for (const { problem, items } of drawnOf<Answer<PipelineProblem>>(pipelineCycles)) {
    const { instructions, forwards, mulCycles } = problem;
    const entered: number[] = [];
    /** The newest instruction that writes the register, among those before this one. */
    const writer = (register: string, before: number): number =>
      instructions.slice(0, before).findLastIndex(({ target }) => target === register);
    for (let cycle = 3; entered.length < instructions.length; cycle++) {
      const index = entered.length;
      const one = instructions[index];
      const before = instructions[index - 1];
      const began = entered[index - 1] ?? 0;
      const length = (place: number): number => (instructions[place]?.do === "mul" ? mulCycles : 1);
      const isFree = index === 0 || cycle >= began + length(index - 1);
      const isRefilled = before?.do !== "branch" || !before.taken || cycle >= began + 3;
      const hasSources = one?.sources.every((register) => {
        const place = writer(register, index);
        if (place < 0) return true;
        const lastExecute = (entered[place] ?? 0) + length(place) - 1;
        const [memory, writeBack] = [lastExecute + 1, lastExecute + 2];
        if (!forwards) return cycle - 1 >= writeBack;
        return cycle > (instructions[place]?.do === "load" ? memory : lastExecute);
      });
      if (isFree && isRefilled && hasSources === true) entered.push(cycle);
    }
    expect(entered.map(String)).toEqual(items);
  }
});

test("ambiguous-string: listing the parse trees finds two of the witness", () => {
  type Instance = { problem: GrammarProblem; witness: string[] };
  for (const { problem, witness } of drawnOf<Instance>(ambiguousString, [1, 2, 3])) {
    const trees = (symbol: string, text: string): string[] => {
      if (symbol === symbol.toLowerCase()) return symbol === text ? [symbol] : [];
      const bodies = problem.rules.find(({ head }) => head === symbol)?.bodies ?? [];
      return bodies.flatMap((body) => forests(body, text).map((inner) => `${symbol}(${inner})`));
    };
    const forests = (body: string, text: string): string[] => {
      if (body.length === 1) return text.length >= 1 ? trees(body, text) : [];
      return Array.from({ length: Math.max(0, text.length - body.length + 1) }, (_, index) => index + 1).flatMap(
        (cut) =>
          trees(body.charAt(0), text.slice(0, cut)).flatMap((first) =>
            forests(body.slice(1), text.slice(cut)).map((rest) => `${first} ${rest}`),
          ),
      );
    };
    expect(new Set(trees("S", witness[0] ?? "")).size).toBeGreaterThan(1);
  }
});
