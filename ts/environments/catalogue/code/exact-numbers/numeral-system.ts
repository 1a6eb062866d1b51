/** numeral-system: numbers written with letters that have values, in an additive system with described shortcuts. */
import { between, shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const numeralSystem = variantRow({
  id: "numeral-system",
  asks: "numbers in an additive system of letters with subtraction, counts, zero and signs, and back",
  name: "convert",
  parameters: ["value"],
  extras: ["subtract", "count", "rising", "zero", "halves", "tail"],
  constants: (rng) => ({
    letters: shuffled("bcdfghklmn", rng).slice(0, 5).join(""),
    first: between(rng, 3, 5),
    second: between(rng, 2, 4),
    most: between(rng, 3, 4),
    sign: rng.pick("'*^"),
    none: rng.pick("oxz"),
  }),
  stories: [
    "Inscriptions of an invented culture use letters as numerals.",
    "A clock shows its numbers in a system of letters.",
    "Chapters of a book are numbered in a special way.",
    "A secret society writes numbers with letters.",
  ],
  rules: `
The letters {{letters}} have values: the first 1, the second {{first}} times as much, the third {{second}} times as much as the second, the fourth {{first}} times as much as the third, and the fifth {{second}} times as much as the fourth.
A number is written by taking, from the letter of the largest value on, each letter as often as it fits into what is left. #!subtract
A number is written by these steps, until nothing is left: take the largest letter that fits, and add it, unless one rule applies. The rule: if the next larger letter (of one more value up in the list) minus the largest letter that fits is not larger than what is left, write the fitting letter and then that larger letter, which together count as their difference. #?subtract
The letters are written in the order in which they were found. #!rising
The whole is written backwards at last, letter by letter. #?rising
Where one letter would stand {{most}} times or more directly in a row, it is written once with the number of times (decimal digits) before it. #?count
Zero is written as {{none}}, and negative numbers as the number without its minus with {{sign}} before it. #?zero
Zero is written as an empty text, and negative numbers as the number without its minus with {{sign}} behind it. #!zero
The value is counted in halves: the value v is written as the number for the whole part of v / 2, and if v is odd, with a point behind it (and, for negative numbers, before the {{sign}} that stands behind). #?halves
If the last letter is the letter of value 1, it is written in upper case. #?tail
`,
  types: `
The argument is a whole number from -3000 to 3000. The result is a text; for the sign, the steps are made with the number without its minus. A letter with a number before it is made before anything is written backwards, so that the number stands behind it then, with its digits backwards, too.
`,
  calls({ first, second }, rng) {
    const top = first * second * first * second;
    const some = (least: number, most: number): Json[][] => range(8).map(() => [between(rng, least, most)]);
    return { small: some(1, 25), middle: some(10, top), large: some(top, 4 * top), negative: some(-top, 0) };
  },
  solve([value]: readonly [number], { letters, first, second, most, sign, none }, on) {
    const values = [1, first, first * second, first * second * first, first * second * first * second];
    const absolute = Math.abs(value);
    let left = on("halves") ? Math.floor(absolute / 2) : absolute;
    let text = "";
    while (left > 0) {
      const fits = values.findLastIndex((one) => one <= left);
      const [unit, next] = [at(values, fits), values[fits + 1]];
      if (on("subtract") && next !== undefined && next - unit <= left) {
        text += letters.charAt(fits) + letters.charAt(fits + 1);
        left -= next - unit;
      } else {
        text += letters.charAt(fits);
        left -= unit;
      }
    }
    if (on("count"))
      text = text.replaceAll(/(.)\1*/gu, (run, one: string) => (run.length >= most ? `${run.length}${one}` : run));
    if (on("rising")) text = Array.from(text).reverse().join("");
    if (on("tail") && text.endsWith(letters.charAt(0))) text = text.slice(0, -1) + letters.charAt(0).toUpperCase();
    if (on("zero") && value === 0) return none;
    if (on("halves") && absolute % 2 === 1) text += ".";
    return value < 0 ? (on("zero") ? sign + text : text + sign) : text;
  },
  python: `
import re

VALUES = [1]
for factor in ({{first}}, {{second}}, {{first}}, {{second}}):
    VALUES.append(VALUES[-1] * factor)
LETTERS = dict(zip(VALUES, "{{letters}}"))

def convert(value):
    left, text = abs(value), ""
    left //= 2 #?halves
    while left:
        unit = max(v for v in VALUES if v <= left)
        larger = [v for v in VALUES if v > unit][:1] #?subtract
        if larger and larger[0] - unit <= left: #?subtract
            text += LETTERS[unit] + LETTERS[larger[0]] #?subtract
            left -= larger[0] - unit #?subtract
            continue #?subtract
        text += LETTERS[unit]
        left -= unit
    text = re.sub(r"(.)\\1{%d,}" % ({{most}} - 1), lambda m: str(len(m[0])) + m[1], text) #?count
    text = text[::-1] #?rising
    if text.endswith(LETTERS[1]): #?tail
        text = text[:-1] + text[-1].upper() #?tail
    if value == 0: #?zero
        return "{{none}}" #?zero
    if value % 2: #?halves
        text += "." #?halves
    if value < 0:
        text = "{{sign}}" + text #?zero
        text = text + "{{sign}}" #!zero
    return text
`,
});
