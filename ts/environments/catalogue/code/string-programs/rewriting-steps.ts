/** rewriting-steps: the text after rewriting rules were applied by a described strategy. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const rewritingSteps = variantRow({
  id: "rewriting-steps",
  asks: "the text after rewriting by a strategy with places, limits, one-time rules and stops",
  name: "rewritten",
  parameters: ["text", "rules"],
  extras: ["rightmost", "last-rule", "once", "final", "rotate", "longest"],
  constants: (rng) => ({
    steps: between(rng, 8, 20),
    size: between(rng, 20, 40),
    often: between(rng, 1, 4),
    stop: rng.pick("!.#"),
  }),
  stories: [
    "A toy language has nothing but replacements of texts.",
    "Plants are drawn from words that grow by rules.",
    "A cleaner of addresses applies its replacements one at a time.",
    "A puzzle is about texts that change by rules.",
  ],
  rules: `
A rule [from, to] may be applied where from stands in the text; it replaces one such place by to.
In every step, the first rule of the list that may be applied somewhere is applied. #!last-rule #!longest
In every step, the last rule of the list that may be applied somewhere is applied. #?last-rule #!longest
In every step, among the rules that may be applied somewhere, one with the longest from is applied, and of several the first of the list. #!last-rule #?longest
In every step, among the rules that may be applied somewhere, one with the longest from is applied, and of several the last of the list. #?last-rule #?longest
It is applied at the leftmost place where from stands. #!rightmost
It is applied at the rightmost place where from stands. #?rightmost
A rule is applied {{often}} times at most; after that it counts as if it were not in the list. #?once
If to ends in {{stop}}, this {{stop}} is not written, and everything ends after the step. #?final
After every step, the first character of the text moves to its end. #?rotate
Everything ends when no rule may be applied, after {{steps}} steps, or as soon as the text has more than {{size}} characters.
`,
  types: `
The arguments are a text and a list of rules with texts from that are not empty. The result is a list of two: the text at the end and the number of steps.
`,
  calls({ stop }, rng, on) {
    const word = (least: number, most: number): string =>
      range(between(rng, least, most))
        .map(() => rng.pick("abc"))
        .join("");
    const rules = (count: number): Json =>
      range(count).map(() => [word(1, 3), word(0, 3) + (on("final") && rng.integer(6) === 0 ? stop : "")]);
    const some = (count: number, length: number): Json[][] =>
      range(7).map(() => [word(length, length + 3), rules(count)]);
    return { few: some(2, 5), more: some(3, 7), many: some(5, 9), long: some(4, 15) };
  },
  solve([start, rules]: readonly [string, readonly (readonly [string, string])[]], { steps, size, often, stop }, on) {
    const used = rules.map(() => 0);
    let [text, done] = [start, 0];
    while (done < steps && text.length <= size) {
      const fits = range(rules.length).filter(
        (index) => text.includes(rules[index]?.[0] ?? "") && !(on("once") && (used[index] ?? 0) >= often),
      );
      const longest = Math.max(...fits.map((index) => rules[index]?.[0].length ?? 0));
      const best = on("longest") ? fits.filter((index) => rules[index]?.[0].length === longest) : fits;
      const index = on("last-rule") ? best.at(-1) : best[0];
      const rule = index === undefined ? undefined : rules[index];
      if (index === undefined || rule === undefined) break;
      const [from, to] = rule;
      const place = on("rightmost") ? text.lastIndexOf(from) : text.indexOf(from);
      const isLast = on("final") && to.endsWith(stop);
      text = text.slice(0, place) + (isLast ? to.slice(0, -stop.length) : to) + text.slice(place + from.length);
      if (on("rotate")) text = text.slice(1) + text.slice(0, 1);
      used[index] = (used[index] ?? 0) + 1;
      done += 1;
      if (isLast) break;
    }
    return [text, done];
  },
  python: `
def rewritten(text, rules):
    left, done = [{{steps}}] * len(rules), 0
    left = [{{often}}] * len(rules) #?once
    while done < {{steps}} and len(text) <= {{size}}:
        fits = [i for i, (a, _) in enumerate(rules) if a in text and left[i]]
        if not fits:
            break
        fits.reverse() #?last-rule
        best = fits[0] #!longest
        best = max(fits, key=lambda i: len(rules[i][0])) #?longest
        left[best] -= 1 #?once
        old, new = rules[best]
        final = False
        if new.endswith("{{stop}}"): #?final
            final, new = True, new[:-1] #?final
        text = text.replace(old, new, 1) #!rightmost
        head, _, tail = text.rpartition(old) #?rightmost
        text = head + new + tail #?rightmost
        text = text[1:] + text[:1] #?rotate
        done += 1
        if final:
            break
    return [text, done]
`,
});
