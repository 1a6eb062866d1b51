/** The tests of a problem of LiveCodeBench, as its rows hold them: shown ones as JSON, hidden ones as JSON or as a packed pickle of JSON. */
import { inflateSync } from "node:zlib";
import { z } from "zod";

import { messageOf, PrlError } from "../../../../errors.ts";
import type { ProgramTest } from "../../../../verify/index.ts";
import { pickledText } from "./pickled-text.ts";

/** No packed row unpacks to more: a small text can unpack to any size. */
const MOST_BYTES = 480 * 1024 * 1024;
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/u;

const tests = z.array(z.object({ input: z.string(), output: z.string(), testtype: z.enum(["stdin", "functional"]) }));

export interface PackedTests {
  readonly public_test_cases: string;
  readonly private_test_cases: string;
}

/** All tests, the shown ones first. `at` is for messages. Errors: PRL_DATA_FORMAT. */
export function testsOfRow(
  { public_test_cases: shown, private_test_cases: hidden }: PackedTests,
  at: string,
): ProgramTest[] {
  const all = [...read(shown, `${at}: public_test_cases`), ...read(hidden, `${at}: private_test_cases`)];
  if (all.length === 0) throw new PrlError("PRL_DATA_FORMAT", `${at}: the problem has no tests`);
  return all.map(({ input, output }) => ({ input, output }));
}

function read(text: string, at: string): z.output<typeof tests> {
  try {
    return tests.parse(JSON.parse(/^\s*\[/u.test(text) ? text : unpacked(text)));
  } catch (cause) {
    throw new PrlError("PRL_DATA_FORMAT", `${at}: cannot be read: ${messageOf(cause)}`, { cause });
  }
}

function unpacked(text: string): string {
  if (!BASE64.test(text)) throw new PrlError("PRL_DATA_FORMAT", "it is neither JSON nor base64");
  return pickledText(inflateSync(Buffer.from(text, "base64"), { maxOutputLength: MOST_BYTES }));
}
