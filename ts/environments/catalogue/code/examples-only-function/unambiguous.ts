/**
 * Proves that examples determine a function: all chains of at most a given number of steps that agree with the examples agree on the hidden
 * inputs, too.
 *
 * Chains with the same results on all inputs, shown and hidden, are one: only the first goes on. Of the last step only the results of the
 * examples are computed until one differs.
 */
import { type List, stepped } from "./steps.ts";

export interface Question {
  readonly target: readonly string[];
  /** Steps of which chains may consist. */
  readonly vocabulary: readonly string[];
  readonly shown: readonly List[];
  readonly hidden: readonly List[];
}

export interface Proof {
  /** Steps of the shortest chain that agrees with the examples. */
  readonly shortest: number;
  /** Chains that were tried. */
  readonly work: number;
}

/** Most classes of one length; above it the draw is given up. */
const MOST_CLASSES = 40_000;

/** About all chains of at most as many steps as the target. Null where one agrees on the examples and not on the hidden inputs. */
export function proofOf({ target, vocabulary, shown, hidden }: Question): Proof | null {
  const most = target.length;
  const inputs = [...shown, ...hidden];
  const wanted = results(target, inputs);
  if (wanted === null) return null;
  const texts = wanted.map((list) => list.join());
  const seen = new Set([inputs.map((list) => list.join()).join(";")]);
  let level: (readonly List[])[] = [inputs];
  let [shortest, work] = [0, 0];
  for (let length = 1; length <= most; length++) {
    const next: (readonly List[])[] = [];
    for (const lists of level)
      for (const name of vocabulary) {
        work += 1;
        const agrees = shown.every((_, index) => stepped(name, lists[index] ?? [])?.join() === texts[index]);
        if (!agrees && length === most) continue;
        const all = steppedAll(name, lists);
        if (all === null) continue;
        if (agrees) {
          if (all.some((list, index) => list.join() !== texts[index])) return null;
          if (shortest === 0) shortest = length;
        }
        const text = all.map((list) => list.join()).join(";");
        if (seen.has(text)) continue;
        seen.add(text);
        next.push(all);
      }
    if (next.length > MOST_CLASSES) return null;
    level = next;
  }
  return { shortest, work };
}

function results(chain: readonly string[], inputs: readonly List[]): readonly List[] | null {
  let now: readonly List[] | null = inputs;
  for (const name of chain) now = now === null ? null : steppedAll(name, now);
  return now;
}

function steppedAll(name: string, lists: readonly List[]): readonly List[] | null {
  const all: List[] = [];
  for (const list of lists) {
    const result = stepped(name, list);
    if (result === null) return null;
    all.push(result);
  }
  return all;
}
