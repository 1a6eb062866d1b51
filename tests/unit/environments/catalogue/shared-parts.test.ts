/** What generators share: ranges, and exceptions that cost little. */
import { expect, test } from "vitest";

import { range } from "../../../../ts/environments/catalogue/lists.ts";
import { Stackless } from "../../../../ts/environments/catalogue/stackless.ts";

test.each([0, 1, 5, 2.5, -1, Number.NaN])("range(%d) is that of Array.from", (count) => {
  expect(range(count)).toEqual(Array.from({ length: count }, (_, index) => index));
});

test("exceptions that end small runs take no stack, and others keep theirs", () => {
  class Ended extends Stackless {}
  const ended = new Ended("enough");
  expect([ended.message, ended.stack]).toEqual(["enough", "Error: enough"]);
  expect(new Error("other").stack).toContain("shared-parts.test");
});
