/** Patterns and small grammars: regular expressions, ignore files, lexers and parsing expressions. */
import type { Family } from "../../row.ts";
import { ignoredPaths } from "./ignored-paths.ts";
import { pegConsumption } from "./peg-consumption.ts";
import { regexFromExamples } from "./regex-from-examples.ts";
import { regexFromProse } from "./regex-from-prose.ts";
import { regexSeparatingString } from "./regex-separating-string.ts";
import { tokenStream } from "./token-stream.ts";

export const patterns: Family = {
  id: "patterns",
  rows: [regexFromProse, regexSeparatingString, regexFromExamples, ignoredPaths, tokenStream, pegConsumption],
};
