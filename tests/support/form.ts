/**
 * The two forms of the tests. `npm test` runs the short one, which has at least one test of each kind; `npm run test:long` (`PRL_TEST_LONG=1`) runs all
 * tests, and more cases of each.
 */
import { test } from "vitest";

/** Whether this is the long form. */
export const IS_LONG = process.env["PRL_TEST_LONG"] === "1";

/** A test that only the long form runs: a variant of one that the short form has. */
export const longTest = test.runIf(IS_LONG);
