import { expect, test } from "vitest";

import { joinedIds } from "../../../ts/renderers/internal.ts";

test("token ids are joined in their order, also more of them than a call may have arguments", () => {
  expect(joinedIds()).toEqual(new Uint32Array(0));
  expect(joinedIds(Uint32Array.of(1, 2), new Uint32Array(0), Uint32Array.of(3))).toEqual(Uint32Array.of(1, 2, 3));
  const many = new Uint32Array(300_000).fill(7);
  const joined = joinedIds(many, Uint32Array.of(8));
  expect([joined.length, joined.at(0), joined.at(-1)]).toEqual([300_001, 7, 8]);
});
