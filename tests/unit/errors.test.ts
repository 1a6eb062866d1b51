import { expect, test } from "vitest";

import { explain, messageOf, PrlError } from "../../ts/errors.ts";

test("an error without a message is named by its code, or by its kind", () => {
  const cause = Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" });
  expect(explain(new PrlError("PRL_INFERENCE_UNREACHABLE", "no answer", { cause }))).toBe(
    "[PRL_INFERENCE_UNREACHABLE] no answer\n  caused by: ECONNREFUSED",
  );
  expect(messageOf(new RangeError(""))).toBe("RangeError");
});
