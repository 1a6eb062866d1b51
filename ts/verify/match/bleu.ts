/** BLEU (Papineni et al. 2002) of one text. */
import { z } from "zod";

import { checkOptions, only } from "../../options.ts";

export interface BleuOptions {
  /** Longest n-grams. Default 4. */
  maxOrder?: number;
  /** `exp`: n-grams without a match count 1/2, 1/4, ... in turn (NIST, sacrebleu); `none`: then the score is 0. Default `exp`. */
  smoothing?: "exp" | "none";
}

const optionsSchema = only<BleuOptions>({
  maxOrder: z.int().positive().optional(),
  smoothing: z.enum(["exp", "none"]).optional(),
});

/**
 * Between 0 and 1: geometric mean of the clipped n-gram precisions, times the brevity penalty against the reference closest in length. Words are
 * runs of letters and digits; every other sign except space is a separate word; case counts. Orders for which the text is too short are
 * left out. Errors: PRL_VERIFY_OPTIONS.
 */
export function bleu(candidate: string, references: string | readonly string[], options: BleuOptions = {}): number {
  checkOptions("PRL_VERIFY_OPTIONS", "bleu", optionsSchema, options);
  const { maxOrder = 4, smoothing = "exp" } = options;
  const words = tokens(candidate);
  const others = (typeof references === "string" ? [references] : references).map(tokens);
  if (words.length === 0 || others.length === 0) return 0;
  let logSum = 0;
  let orders = 0;
  let smooth = 1;
  for (let order = 1; order <= Math.min(maxOrder, words.length); order++) {
    const own = counts(words, order);
    const allowed = others.map((other) => counts(other, order));
    let matched = 0;
    for (const [gram, count] of own) {
      matched += Math.min(count, Math.max(...allowed.map((one) => one.get(gram) ?? 0)));
    }
    const total = words.length - order + 1;
    if (matched === 0 && (smoothing === "none" || order === 1)) return 0;
    if (matched === 0) smooth *= 2;
    logSum += Math.log((matched === 0 ? 1 / smooth : matched) / total);
    orders += 1;
  }
  const closest = others
    .map(({ length }) => length)
    .reduce((best, length) => {
      const [now, before] = [Math.abs(length - words.length), Math.abs(best - words.length)];
      return now < before || (now === before && length < best) ? length : best;
    });
  const penalty = words.length >= closest ? 1 : Math.exp(1 - closest / words.length);
  return penalty * Math.exp(logSum / orders);
}

function tokens(text: string): string[] {
  return text.match(/[\p{L}\p{N}\p{M}]+|[^\s\p{L}\p{N}\p{M}]/gu) ?? [];
}

function counts(words: readonly string[], order: number): Map<string, number> {
  const found = new Map<string, number>();
  for (let at = 0; at + order <= words.length; at++) {
    const gram = words.slice(at, at + order).join("\u0000");
    found.set(gram, (found.get(gram) ?? 0) + 1);
  }
  return found;
}
