import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TraceColumns } from "../../../ts/native/index.ts";
import { isGibberish } from "../../../ts/orchestrator/filters/gibberish.ts";
import { isRepetition } from "../../../ts/orchestrator/filters/repetition.ts";

interface Token {
  id: number;
  sampled: boolean;
  logprob: number;
}

/** The columns of a trace of these branches. */
function columns(branches: readonly Token[][]): TraceColumns {
  const tokens = branches.flat();
  let end = 0;
  return {
    tokenIds: Uint32Array.from(tokens, ({ id }) => id),
    mask: Uint8Array.from(tokens, ({ sampled }) => Number(sampled)),
    logprobs: Float32Array.from(tokens, ({ logprob }) => logprob),
    branchOffsets: Uint32Array.from([0, ...branches.map((branch) => (end += branch.length))]),
  } as Partial<TraceColumns> as TraceColumns;
}

const said = (id: number, logprob: number): Token => ({ id, sampled: true, logprob });
const given = (id: number): Token => ({ id, sampled: false, logprob: 0 });

describe("gibberish is a rare token that the policy itself held for impossible", () => {
  const limits = { tokenIdThreshold: 100, maxLogprob: -10 };

  test.each([
    ["rare and impossible", [said(100, -11)], true],
    ["rare and likely", [said(100, -10)], false],
    ["common and impossible", [said(99, -11)], false],
    ["one among many", [said(1, -1), said(200, -12), said(2, -1)], true],
    ["rare text that a prompt held", [{ ...given(200), logprob: -12 }, said(1, -1)], false],
    ["nothing sampled", [given(200)], false],
  ])("%s", (_, tokens, found) => {
    expect(isGibberish(columns([tokens]), limits)).toBe(found);
  });
});

describe("repetition is a run of tokens that were all but certain", () => {
  const sure = said(1, Math.log(0.995));
  const limits = { window: 3, probThreshold: 0.99 };
  const found = (...branches: Token[][]) => isRepetition(columns(branches), limits);

  test("of the whole window, within one branch, all of them sampled", () => {
    expect(found([sure, sure, sure])).toBe(true);
    expect(found([sure, sure])).toBe(false);
    expect(found([sure, sure, said(1, Math.log(0.98)), sure, sure])).toBe(false);
    expect(found([sure, sure, given(1), sure])).toBe(false);
    expect(found([sure, sure], [sure, sure])).toBe(false);
    expect(found([sure, sure], [sure, sure, sure])).toBe(true);
  });

  test("and nothing else", () => {
    const token = fc.record({
      id: fc.nat(9),
      sampled: fc.boolean(),
      logprob: fc.constantFrom(Math.log(0.995), -1),
    });
    const branch = fc.array(token, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(branch, { minLength: 1, maxLength: 4 }), (branches) => {
        const letters = branches.map((tokens) =>
          tokens.map((one) => (one.sampled && one.logprob > -1 ? "x" : "-")).join(""),
        );
        expect(found(...branches)).toBe(letters.some((text) => text.includes("xxx")));
      }),
    );
  });
});
