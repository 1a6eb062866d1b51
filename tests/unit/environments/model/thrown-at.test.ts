import { describe, expect, it } from "vitest";

import { thrownAt } from "../../../../ts/environments/model/thrown-at.ts";
import { explain, PrlError } from "../../../../ts/errors.ts";

describe("thrownAt", () => {
  it("names the place in the user's code", () => {
    expect(thrownAt(new Error("x"))).toMatch(/^ \(.*thrown-at\.test\.ts:\d+:\d+\)$/u);
  });

  it("passes over frames of Node, of packages and of prl", () => {
    const error = new Error("x");
    const own = new URL("../../../../ts/environments/model/reward.ts", import.meta.url).pathname;
    error.stack = `Error: x\n    at node:internal/a:1:2\n    at f (/p/node_modules/q/i.js:3:4)\n    at ${own}:5:6\n    at g (file:///u/mine.ts:7:8)`;
    expect(thrownAt(error)).toBe(" (/u/mine.ts:7:8)");
    error.stack = "Error: x\n    at node:internal/a:1:2";
    expect(thrownAt(error)).toBe("");
    expect(thrownAt("text")).toBe("");
  });
});

it("an error that repeats its cause is printed once", () => {
  const wrapped = new PrlError("PRL_ENVIRONMENT_FAILED", 'reward "r" threw: no luck', { cause: new Error("no luck") });
  expect(explain(wrapped)).toBe('[PRL_ENVIRONMENT_FAILED] reward "r" threw: no luck');
  const other = new PrlError("PRL_IO", "cannot read x", { cause: new Error("EACCES") });
  expect(explain(other)).toBe("[PRL_IO] cannot read x\n  caused by: EACCES");
});
