/** Deduction and formal languages against enumeration with code that shares nothing with the rows. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { alternatingLiars } from "../../../../../ts/environments/catalogue/logic/deduction/alternating-liars.ts";
import { automatonPredecessor } from "../../../../../ts/environments/catalogue/logic/formal-languages/automaton-predecessor.ts";
import { rewritingRoute } from "../../../../../ts/environments/catalogue/logic/formal-languages/rewriting-route.ts";
import type { Level, Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const INSTANCES = IS_LONG ? 300 : 20;

function* instancesOf<Instance>(row: Row, levels: readonly Level[]): Generator<Instance> {
  const rng = createRng(5);
  for (const level of levels)
    for (let count = 0; count < INSTANCES; count++) yield drawInstance(row, level, rng).instance as Instance;
}

function* lists(length: number, below: number): Generator<number[]> {
  if (length === 0) yield [];
  else for (const rest of lists(length - 1, below)) for (let value = 0; value < below; value++) yield [...rest, value];
}

interface Claim {
  readonly kind: string;
  readonly who: number;
  readonly other: number;
  readonly type: number;
  readonly number: number;
  readonly not: boolean;
}

test("alternating-liars: of all assignments only the gold one is consistent", () => {
  interface Island {
    readonly claims: [Claim, Claim][];
    readonly types: number[];
  }
  const holds = ({ kind, who, other, type, number, not }: Claim, kinds: number[]): boolean => {
    if (kind === "count") return kinds.filter((one) => one === type).length === number;
    const plain = kind === "is" ? kinds[who] === type : kinds[who] === kinds[other];
    return not ? !plain : plain;
  };
  for (const { claims, types } of instancesOf<Island>(alternatingLiars, [1, 2, 3, 4])) {
    const consistent = [...lists(types.length, 3)].filter((kinds) =>
      claims.every(
        (pair, speaker) => pair.filter((claim) => holds(claim, kinds)).length === [2, 0, 1][kinds[speaker] ?? 3],
      ),
    );
    expect(consistent).toEqual([types]);
  }
});

test("automaton-predecessor: exactly the states that lead to the shown one score", () => {
  interface Ring {
    readonly rule: string;
    readonly steps: number;
    readonly shown: string;
  }
  for (const one of instancesOf<Ring>(automatonPredecessor, [1, 2, 4])) {
    let found = 0;
    for (const cells of lists(one.shown.length, 2)) {
      let state = cells;
      for (let step = 0; step < one.steps; step++) {
        const [before, behind] = [
          [...state.slice(-1), ...state.slice(0, -1)],
          [...state.slice(1), ...state.slice(0, 1)],
        ];
        state = state.map((cell, at) => Number(one.rule[Number.parseInt(`${before[at]}${cell}${behind[at]}`, 2)]));
      }
      const isRight = state.join("") === one.shown;
      found += Number(isRight);
      expect(automatonPredecessor.score(one, cells.join(""))).toBe(Number(isRight));
    }
    expect(found).toBeGreaterThan(0);
  }
});

test("rewriting-route: no derivation is shorter", () => {
  interface System {
    readonly rules: [string, string][];
    readonly from: string;
    readonly to: string;
    readonly plan: string[];
  }
  for (const { rules, from, to, plan } of instancesOf<System>(rewritingRoute, [1, 2, 3])) {
    let words = new Set([from]);
    for (let step = 1; step < plan.length; step++) {
      const next = [...words].flatMap((word) =>
        Array.from(word, (_, at) => at).flatMap((at) =>
          rules
            .filter(([left]) => word.startsWith(left, at))
            .map(([left, right]) => word.slice(0, at) + right + word.slice(at + left.length)),
        ),
      );
      words = new Set(next.filter((word) => word.length <= 14));
      expect(words.has(to)).toBe(false);
    }
  }
});
