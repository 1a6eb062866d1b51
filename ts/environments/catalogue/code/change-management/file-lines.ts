/** Lines of generated files for patches and merges: settings with a name and a value, all different. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";

/** One more setting than those that were drawn from the same source. */
export function settings(rng: Rng, count: number): string[] {
  return distinct(count, () => word(rng, 2)).map((name) => `${name} = ${between(rng, 10, 99)}`);
}

/** The setting with another value. */
export function changedValue(line: string, rng: Rng): string {
  const [name = "", value = ""] = line.split(" = ");
  return `${name} = ${Number(value) + between(rng, 1, 60)}`;
}
