import { expect, test } from "vitest";
import { ERROR_CODES } from "../../../ts/errors.ts";
import { addonInfo } from "../../../ts/native/index.ts";

test("every code that the Rust crates can raise is in the registry", async () => {
  const { errorCodes } = await addonInfo();
  expect(errorCodes.length).toBeGreaterThan(10);
  expect(errorCodes.filter((code) => !(code in ERROR_CODES))).toEqual([]);
});
