/** The proof of examples-only-function against plain enumeration, which keeps no classes. */
import { describe, expect, test } from "vitest";

import {
  drawList,
  type List,
  NAMES,
  ran,
} from "../../../../../ts/environments/catalogue/code/examples-only-function/steps.ts";
import { proofOf } from "../../../../../ts/environments/catalogue/code/examples-only-function/unambiguous.ts";
import { sample } from "../../../../../ts/random/draws.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const QUESTIONS = IS_LONG ? 600 : 60;

/** Steps of the shortest chain that fits; null where one that fits is wrong on a hidden input. */
function enumerated(
  target: readonly string[],
  vocabulary: readonly string[],
  shown: List[],
  hidden: List[],
): number | null {
  const texts = (chain: readonly string[], lists: readonly List[]): string =>
    JSON.stringify(lists.map((list) => ran(chain, list)));
  const chains = [
    ...vocabulary.map((one) => [one]),
    ...vocabulary.flatMap((one) => vocabulary.map((two) => [one, two])),
  ];
  const all = chains.filter((chain) => !texts(chain, [...shown, ...hidden]).includes("null"));
  const fitting = all.filter((chain) => texts(chain, shown) === texts(target, shown));
  if (fitting.some((chain) => texts(chain, hidden) !== texts(target, hidden))) return null;
  return Math.min(...fitting.map(({ length }) => length));
}

describe("the proof", () => {
  test("agrees with an enumeration of all chains of two steps", () => {
    const rng = createRng(8);
    let ambiguous = 0;
    for (let index = 0; index < QUESTIONS; index++) {
      const vocabulary = sample(NAMES, 12, rng);
      const target = [rng.pick(vocabulary), rng.pick(vocabulary)];
      const shown = Array.from({ length: 1 + (index % 3) }, () => drawList(rng, 2, 5));
      const hidden = Array.from({ length: 6 }, () => drawList(rng, 0, 6));
      const expected = enumerated(target, vocabulary, shown, hidden);
      if (expected === null) ambiguous += 1;
      expect(proofOf({ target, vocabulary, shown, hidden })?.shortest ?? null).toBe(expected);
    }
    expect(ambiguous).toBeGreaterThan(QUESTIONS / 20);
    expect(ambiguous).toBeLessThan(QUESTIONS);
  });
});
