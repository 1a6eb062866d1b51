/** decimal-rounding: sums and products of decimal texts with described rounding, steps and output. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const decimalRounding = variantRow({
  id: "decimal-rounding",
  asks: "a total of decimal amounts with rounding steps, ties, discounts and an exact written form",
  name: "total",
  parameters: ["lines"],
  extras: ["each", "even", "step", "discount", "cash", "trim", "away"],
  constants: (rng) => ({
    places: between(rng, 1, 3),
    step: rng.pick([2, 5, 25]),
    percent: between(rng, 3, 18),
    least: between(rng, 20, 60),
    tax: between(rng, 5, 23),
  }),
  stories: [
    "A shop computes its bills, and every cent has to be right.",
    "Fuel is sold in fractions of a litre at prices with fractions of a cent.",
    "The electricity bill of a house is computed exactly.",
    "An online shop for screws has very small prices.",
  ],
  rules: `
Each line has an amount and a price, both decimal texts such as 2.75; their product is the value of the line. The total is the sum of the values.
Each value is rounded to {{places}} places before it is added. #?each
If the sum is at least {{least}}, {{percent}} percent of it are subtracted, without rounding. #?discount
Then {{tax}} percent of it are added, without rounding.
The result is rounded to {{places}} places. #!step
The result is rounded to a multiple of {{step}} units of the place number {{places}} behind the point. #?step
Rounding goes to the nearest; of two equally near ones to the one that is farther from zero. #!even #!away
Rounding goes to the nearest; of two equally near ones to the even one (an even multiple of the unit or step). #?even #!away
Rounding goes away from zero, to the next multiple of the unit or step, unless it is one already. #?away
If the sum of the lines is negative, the result is written with brackets around it instead of a minus. #?cash
It is written with exactly {{places}} places behind the point, and 0 before the point where there is nothing else. #!trim
It is written without zeros at the end behind the point, and without the point, if nothing is left behind it; with 0 before the point where there is nothing else. #?trim
`,
  types: `
The argument is a list of lines [amount, price]; amounts may be negative. The result is a text; zero has neither minus nor brackets.
`,
  calls(_, rng) {
    const decimal = (size: number, places: number, isSigned: boolean): string => {
      const digits = range(rng.integer(places + 1)).map(() => rng.pick("0123555579"));
      const sign = isSigned && rng.integer(5) === 0 ? "-" : "";
      return sign + String(rng.integer(size)) + (digits.length > 0 ? `.${digits.join("")}` : "");
    };
    const lines = (count: number, size: number): Json =>
      range(count).map(() => [decimal(size, 2, true), decimal(size, 3, false)]);
    const some = (count: number, size: number): Json[][] => range(8).map(() => [lines(count, size)]);
    return { one: some(1, 5), few: some(2, 8), more: some(5, 10), large: some(3, 300) };
  },
  solve([lines]: readonly [readonly (readonly [string, string])[]], { places, step, percent, least, tax }, on) {
    // All values are whole numbers of 10^-10.
    const ONE = 10n ** 10n;
    const read = (text: string): bigint => {
      const [whole = "0", part = ""] = text.replace("-", "").split(".");
      const value = BigInt(whole + part.padEnd(5, "0"));
      return text.startsWith("-") ? -value : value;
    };
    /** The multiple of the unit that is chosen for value / scale. */
    const rounded = (value: bigint, unit: bigint): bigint => {
      const size = value < 0n ? -value : value;
      const [whole, rest] = [size / unit, size % unit];
      const isUp = on("away")
        ? rest > 0n
        : 2n * rest > unit || (2n * rest === unit && (!on("even") || whole % 2n === 1n));
      const count = isUp ? whole + 1n : whole;
      return (value < 0n ? -count : count) * unit;
    };
    const place = 10n ** BigInt(10 - places);
    const values = lines.map(([amount, price]) => read(amount) * read(price));
    const sum = values.reduce((total, value) => total + (on("each") ? rounded(value, place) : value), 0n);
    // From here on in 10^-14.
    const cut = on("discount") && sum >= BigInt(least) * ONE ? sum * BigInt(100 - percent) : sum * 100n;
    const unit = place * 10_000n * (on("step") ? BigInt(step) : 1n);
    const result = rounded(cut * BigInt(100 + tax), unit) / (place * 10_000n);
    const digits = (result < 0n ? -result : result).toString().padStart(places + 1, "0");
    let text = `${digits.slice(0, -places)}.${digits.slice(-places)}`;
    if (on("trim")) text = text.replace(/\.?0+$/u, "");
    if (result === 0n) return text;
    return sum < 0n ? (on("cash") ? `(${text})` : `-${text}`) : text;
  },
  python: `
from fractions import Fraction

def nearest(value, unit):
    whole, rest = divmod(abs(value), unit)
    up = rest > 0 #?away
    up = rest * 2 > unit or rest * 2 == unit and whole % 2 == 1 #?even #!away
    up = rest * 2 >= unit #!even #!away
    size = (whole + up) * unit
    return size if value >= 0 else -size

def total(lines):
    unit = Fraction(1, 10 ** {{places}})
    result = Fraction(0)
    for amount, price in lines:
        value = Fraction(amount) * Fraction(price)
        value = nearest(value, unit) #?each
        result += value
    if result >= {{least}}: #?discount
        result -= result * {{percent}} / 100 #?discount
    result += result * {{tax}} / 100
    result = nearest(result, unit) #!step
    result = nearest(result, unit * {{step}}) #?step
    digits = str(int(abs(result) / unit)).zfill({{places}} + 1)
    text = digits[:-{{places}}] + "." + digits[-{{places}}:]
    text = text.rstrip("0").rstrip(".") #?trim
    if result < 0:
        text = "(" + text + ")" #?cash
        text = "-" + text #!cash
    return text
`,
});
