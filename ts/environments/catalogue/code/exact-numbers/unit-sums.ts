/** unit-sums: sums of amounts in units of a mixed system, read and written by described rules. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const unitSums = variantRow({
  id: "unit-sums",
  asks: "sums and multiples of amounts in mixed units, with rounding to units and written forms",
  name: "sum_of",
  parameters: ["amounts"],
  extras: ["times", "minus", "largest", "zeros", "round", "half", "words"],
  constants: (rng) => ({
    small: between(rng, 4, 16),
    middle: between(rng, 3, 12),
    large: between(rng, 5, 9),
    none: rng.pick(["0", "-", "nil"]),
  }),
  stories: [
    "Old units of weight are added in a museum of trade.",
    "Lengths of cloth are added in units that are out of use.",
    "The coins of a fantasy world have odd values.",
    "Durations on a space station are measured in local units.",
  ],
  rules: `
An amount is a text of parts with blanks between them; a part is a whole number with a unit directly behind it. {{small}} a make one b, {{middle}} b make one c, and {{large}} c make one d. Units may come in any order and more than once.
A part may begin with a - and is then subtracted. #?minus
An amount may begin with a part nx, such as 3x: the rest of the amount counts n times. #?times
A number may end in /2 before the unit, such as 5/2b, which is half of so many; half an a is rounded up for each such part by itself, before the sign and before any multiple. #?half
The result is the sum of all amounts, written with units from the largest to the smallest: as many d as possible, then as many c as possible, and so on; units with the number 0 are left out. #!zeros #!largest
The result is the sum of all amounts, written with units from the largest to the smallest: as many d as possible, then as many c as possible, and so on; units with the number 0 are left out, except those between other units. #?zeros #!largest
The result is the sum of all amounts, written with units from the largest to the smallest, but without d: as many c as possible, then as many b as possible, and so on; units with the number 0 are left out. #!zeros #?largest
The result is the sum of all amounts, written with units from the largest to the smallest, but without d: as many c as possible, then as many b as possible, and so on; units with the number 0 are left out, except those between other units. #?zeros #?largest
Before it is written, a sum of at least one c (or at most minus one c) is rounded to whole b, halves away from zero. #?round
Parts are joined with a blank. #!words
Parts are joined with a comma and a blank, but the last two with " and ". #?words
A negative sum is written as the sum without its sign, with a - and a blank before it. A sum of 0 is {{none}}.
`,
  types: `
The argument is a list of texts. The result is a text.
`,
  calls(_, rng, on) {
    const part = (size: number): string =>
      (on("minus") && rng.integer(3) === 0 ? "-" : "") +
      String(rng.integer(size)) +
      (on("half") && rng.integer(3) === 0 ? "/2" : "") +
      rng.pick("abcd");
    const amount = (count: number, size: number): string =>
      [
        ...(on("times") && rng.integer(2) === 0 ? [`${between(rng, 2, 5)}x`] : []),
        ...range(count).map(() => part(size)),
      ].join(" ");
    const some = (amounts: number, parts: number, size: number): Json[][] =>
      range(7).map(() => [range(amounts).map(() => amount(parts, size))]);
    return { one: some(1, 2, 30), two: some(2, 2, 12), many: some(5, 3, 9), large: some(2, 4, 500) };
  },
  solve([amounts]: readonly [readonly string[]], { small, middle, large, none }, on) {
    const values: Readonly<Record<string, number>> = { a: 1, b: small, c: small * middle, d: small * middle * large };
    let sum = 0;
    for (const amount of amounts) {
      let [factor, own] = [1, 0];
      for (const part of amount.split(" ")) {
        const found = /^(-?)(\d+)(\/2)?([abcdx])$/u.exec(part);
        const number = Number(found?.[2] ?? 0);
        const unit = found?.[4] ?? "a";
        if (unit === "x") factor = number;
        else {
          const size = number * (values[unit] ?? 0);
          own += (found?.[1] === "-" ? -1 : 1) * (found?.[3] === undefined ? size : Math.ceil(size / 2));
        }
      }
      sum += factor * own;
    }
    let left = Math.abs(sum);
    if (on("round") && left >= (values["c"] ?? 0)) left = Math.floor((2 * left + small) / (2 * small)) * small;
    if (left === 0) return none;
    const units = Array.from(on("largest") ? "cba" : "dcba").map((unit) => {
      const count = Math.floor(left / (values[unit] ?? 1));
      left -= count * (values[unit] ?? 1);
      return { unit, count };
    });
    const [from, to] = [units.findIndex(({ count }) => count > 0), units.findLastIndex(({ count }) => count > 0)];
    const parts = units
      .filter(({ count }, index) => count > 0 || (on("zeros") && index > from && index < to))
      .map(({ unit, count }) => `${count}${unit}`);
    const last = parts.at(-1) ?? "";
    const text = !on("words")
      ? parts.join(" ")
      : parts.length < 2
        ? last
        : `${parts.slice(0, -1).join(", ")} and ${last}`;
    return sum < 0 ? `- ${text}` : text;
  },
  python: `
import re

UNITS = {"a": 1, "b": {{small}}, "c": {{small}} * {{middle}}, "d": {{small}} * {{middle}} * {{large}}}

def sum_of(amounts):
    total = 0
    for amount in amounts:
        factor, own = 1, 0
        for sign, number, half, unit in re.findall(r"(-?)(\\d+)(/2)?(\\w)", amount):
            if unit == "x": #?times
                factor = int(number) #?times
                continue #?times
            size = int(number) * UNITS[unit]
            if half: #?half
                size = -(-size // 2) #?half
            own += -size if sign else size
        total += factor * own
    left = abs(total)
    if left >= UNITS["c"]: #?round
        left = (left * 2 + {{small}}) // (2 * {{small}}) * {{small}} #?round
    if left == 0:
        return "{{none}}"
    parts = []
    for unit in "dcba": #!largest
    for unit in "cba": #?largest
        count, left = divmod(left, UNITS[unit])
        parts.append((count, unit))
    while parts[0][0] == 0: #?zeros
        parts.pop(0) #?zeros
    while parts[-1][0] == 0: #?zeros
        parts.pop() #?zeros
    parts = [part for part in parts if part[0]] #!zeros
    parts = [f"{count}{unit}" for count, unit in parts]
    text = " ".join(parts) #!words
    text = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]])) #?words
    return "- " + text if total < 0 else text
`,
});
