import { expect, test } from "vitest";

import { explain, lacksMemory, messageOf, PrlError } from "../../ts/errors.ts";

test("an error without a message is named by its code, or by its kind", () => {
  const cause = Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" });
  expect(explain(new PrlError("PRL_INFERENCE_UNREACHABLE", "no answer", { cause }))).toBe(
    "[PRL_INFERENCE_UNREACHABLE] no answer\n  caused by: ECONNREFUSED",
  );
  expect(messageOf(new RangeError(""))).toBe("RangeError");
});

test("a lack of memory is seen through the errors that it caused", () => {
  const spawn = Object.assign(new Error("spawn ENOMEM"), { code: "ENOMEM" });
  const wrapped = new PrlError("PRL_IO", "cannot write x", { cause: spawn });
  const buffer = (() => {
    try {
      return new ArrayBuffer(Number.MAX_SAFE_INTEGER);
    } catch (error) {
      return error;
    }
  })();
  for (const error of [spawn, wrapped, buffer, new PrlError("PRL_MEMORY", "cannot map x")])
    expect(lacksMemory(error), messageOf(error)).toBe(true);
  for (const error of [new PrlError("PRL_IO", "ENOMEM"), new RangeError("x"), "ENOMEM", undefined])
    expect(lacksMemory(error)).toBe(false);
});
