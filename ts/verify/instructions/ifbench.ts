/**
 * The instructions of IFBench (Pyatkin et al. 2025) that can be checked without a model, by their ids and arguments there.
 *
 * Left out: `words:start_verb` needs a part-of-speech tagger, `words:odd_even_syllables` a dictionary of syllables.
 */
import type { Instruction } from "./arguments.ts";
import { CUSTOM_INSTRUCTIONS } from "./ifbench-custom.ts";
import { FORMAT_INSTRUCTIONS } from "./ifbench-formats.ts";
import { SENTENCE_INSTRUCTIONS } from "./ifbench-sentences.ts";
import { WORD_INSTRUCTIONS } from "./ifbench-words.ts";

export const IFBENCH: Readonly<Record<string, Instruction>> = {
  ...WORD_INSTRUCTIONS,
  ...SENTENCE_INSTRUCTIONS,
  ...FORMAT_INSTRUCTIONS,
  ...CUSTOM_INSTRUCTIONS,
};

export const IFBENCH_WITH_MODELS: ReadonlySet<string> = new Set(["words:start_verb", "words:odd_even_syllables"]);
