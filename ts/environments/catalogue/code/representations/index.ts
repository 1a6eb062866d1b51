/** Values as machines hold them: words and flags, fields of bits, texts in several encodings, states of caches and predictors. */
import type { Family } from "../../row.ts";
import { bitFieldWords } from "./bit-field-words.ts";
import { branchPredictor } from "./branch-predictor.ts";
import { canonicalCodes } from "./canonical-codes.ts";
import { coherenceStates } from "./coherence-states.ts";
import { collidingText } from "./colliding-text.ts";
import { conditionFlags } from "./condition-flags.ts";
import { textOffsets } from "./text-offsets.ts";

export const representations: Family = {
  id: "representations",
  rows: [conditionFlags, bitFieldWords, textOffsets, canonicalCodes, collidingText, branchPredictor, coherenceStates],
};
