import { canonicalJson } from "../canonical-json.ts";
import { digest } from "../native/index.ts";

/** `train` to learn from, `eval` held out: an environment keeps them apart. */
export type Split = "train" | "eval";

/** XXH3-64 of the row's JSON with the keys of every object sorted and undefined values left out. */
export function taskHash(row: unknown): string {
  return digest(canonicalJson(row));
}
