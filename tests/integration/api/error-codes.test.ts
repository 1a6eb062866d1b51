import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../../../ts/errors.ts";
import { addonInfo } from "../../../ts/native/index.ts";
import { ROOT } from "../../support/prl.ts";

/** The crates that the addon is built from. The daemon's codes reach it through the client, which names each one that it knows. */
const CRATES = [
  "native",
  ...["engine", "grammar", "packing", "weights", "transport", "sandbox-client"].map((name) => `crates/${name}`),
];

test("every code that the Rust crates can raise is in the registry", async () => {
  const { errorCodes } = await addonInfo();
  expect(errorCodes.length).toBeGreaterThan(10);
  expect(errorCodes.filter((code) => !(code in ERROR_CODES))).toEqual([]);
});

test("the addon lists every code that its sources name", async () => {
  const { errorCodes } = await addonInfo();
  const named = CRATES.map((crate) => join(ROOT, crate, "src")).flatMap((src) =>
    readdirSync(src, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".rs"))
      .flatMap((file) => [...readFileSync(join(src, file), "utf8").matchAll(/"(PRL_[A-Z_]+)"/g)])
      .map(([, code = ""]) => code),
  );
  expect([...new Set(named)].toSorted()).toEqual(errorCodes);
});
