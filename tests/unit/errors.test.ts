import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

import { ENVIRONMENT_VARIABLES } from "../../ts/config/environment-variables.ts";
import { ERROR_CODES, explain, lacksMemory, messageOf, PrlError } from "../../ts/errors.ts";

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

test.each(["sandboxd", "sandbox-guest", "sandbox-client", "sandbox-proto"])(
  "every code that the sources of %s name is in the registry",
  (crate) => {
    const folder = resolve(import.meta.dirname, "../../crates", crate, "src");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".rs"));
    const named = files.flatMap((file) =>
      [...readFileSync(join(folder, file), "utf8").matchAll(/"(PRL_SANDBOX_[A-Z_]+)"/g)].map(([, code = ""]) => code),
    );
    expect(files.length).toBeGreaterThan(3);
    if (crate === "sandboxd") expect(named).toContain("PRL_SANDBOX_USAGE");
    const known = new Set([...Object.keys(ERROR_CODES), ...Object.keys(ENVIRONMENT_VARIABLES)]);
    expect([...new Set(named)].filter((code) => !known.has(code))).toEqual([]);
  },
);
