import { expect, it } from "vitest";

import { tokenStaleness } from "../../../ts/trainer/rl/token-staleness.ts";

const NOT_SAMPLED = 0xffffffff;

it("is that of the tokens that train, not of the rollout's first version", () => {
  // A prompt of 2 tokens; 1 token by version 3, then a swap, 3 tokens by version 4; one of them does not train.
  const batch = {
    lossMask: Uint8Array.of(0, 0, 1, 1, 0, 1),
    policyVersionSpans: Uint32Array.of(0, NOT_SAMPLED, 2, 3, 3, 4),
  };
  expect(tokenStaleness([batch], 5)).toEqual({ "off_policy/tokens/mean": 1 / 3, "off_policy/tokens/max": 1 });
});

it("has no numbers where no token that trains was sampled", () => {
  expect(
    tokenStaleness([{ lossMask: Uint8Array.of(0, 1), policyVersionSpans: Uint32Array.of(0, NOT_SAMPLED) }], 1),
  ).toEqual({});
  expect(tokenStaleness([{ lossMask: Uint8Array.of(0, 0), policyVersionSpans: Uint32Array.of(0, 3) }], 9)).toEqual({});
});

it("is over the batches of all ranks", () => {
  const sampled = (version: number) => ({
    lossMask: Uint8Array.of(0, 1),
    policyVersionSpans: Uint32Array.of(0, NOT_SAMPLED, 1, version),
  });
  const expected = { "off_policy/tokens/mean": 1, "off_policy/tokens/max": 2 };
  expect(tokenStaleness([sampled(4), sampled(2)], 5)).toEqual(expected);
});
