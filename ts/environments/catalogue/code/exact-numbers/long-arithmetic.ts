/** long-arithmetic: sums, products and quotients of long numbers that are written in a drawn notation. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const longArithmetic = variantRow({
  id: "long-arithmetic",
  asks: "exact results of long numbers in an unusual base and notation, with rounding and a wrap-around",
  name: "compute",
  parameters: ["left", "operation", "right"],
  extras: ["low-first", "floor", "wrap", "groups", "power", "sign-behind"],
  constants: (rng) => ({
    base: between(rng, 5, 16),
    digits: between(rng, 9, 26),
    group: between(rng, 2, 4),
    mark: rng.pick("~-_"),
  }),
  stories: [
    "A calculator for very long numbers is needed, and its notation is special.",
    "Accounts of a fictional bank are kept in another number system.",
    "Serial numbers are added and multiplied; they have dozens of digits.",
    "A puzzle works with long numbers in a strange notation.",
  ],
  rules: `
A number is written in base {{base}}; the digits are 0 to 9 and then a, b, c and so on, as many as the base needs. Zero is 0, and other numbers do not begin with zeros.
The highest digit stands first. #!low-first
The lowest digit stands first (so that a number does not end in a zero, except 0 itself). #?low-first
A negative number has a {{mark}} before its digits. #!sign-behind
A negative number has a {{mark}} behind its digits. #?sign-behind
The operations are +, -, * and /. The right number is not zero where it divides.
A quotient is rounded towards zero. #!floor
A quotient is rounded down, to the next smaller whole number. #?floor
The operation ^ takes the left number to the power of the remainder of the right number divided by 4 (the remainder is from 0 to 3, also for negative numbers; a power with 0 is 1). #?power
Of the size of a result, without its sign, only the lowest {{digits}} digits are kept. #?wrap
In the result, but not in the arguments, the digits are cut into groups of {{group}}, beginning with the lowest digit, with a blank between the groups. #?groups
`,
  types: `
All three arguments are texts, and so is the result.
`,
  calls({ base, mark }, rng, on) {
    const written = (length: number): string => {
      const text = range(length)
        .map((index) => (index === 0 ? between(rng, 1, base - 1) : rng.integer(base)).toString(base))
        .join("");
      const digits = on("low-first") ? Array.from(text).reverse().join("") : text;
      if (rng.integer(3) > 0) return digits;
      return on("sign-behind") ? digits + mark : mark + digits;
    };
    const signs = ["+", "-", "*", "/", "/", ...(on("power") ? ["^"] : [])];
    const some = (a: number, b: number): Json[][] =>
      range(8).map(() => [written(between(rng, 1, a)), rng.pick(signs), written(between(rng, 1, b))]);
    return { short: some(4, 3), medium: some(10, 8), long: some(30, 20), mixed: some(25, 5) };
  },
  solve([left, operation, right]: readonly [string, string, string], { base, digits, group, mark }, on) {
    const read = (text: string): bigint => {
      const bare = text.replaceAll(mark, "");
      const order = on("low-first") ? Array.from(bare).reverse() : Array.from(bare);
      const size = order.reduce((sum, digit) => sum * BigInt(base) + BigInt(Number.parseInt(digit, base)), 0n);
      return text.includes(mark) ? -size : size;
    };
    const [a, b] = [read(left), read(right)];
    const quotient = (): bigint => {
      const whole = a / b;
      return on("floor") && a % b !== 0n && a < 0n !== b < 0n ? whole - 1n : whole;
    };
    const results: Readonly<Record<string, () => bigint>> = {
      "+": () => a + b,
      "-": () => a - b,
      "*": () => a * b,
      "/": quotient,
      "^": () => a ** (((b % 4n) + 4n) % 4n),
    };
    const result = results[operation]?.();
    if (result === undefined) return "";
    const full = result < 0n ? -result : result;
    const size = on("wrap") ? full % BigInt(base) ** BigInt(digits) : full;
    let text = Array.from(size.toString(base)).reverse().join("");
    if (on("groups")) text = (text.match(new RegExp(`.{1,${group}}`, "gu")) ?? []).join(" ");
    if (!on("low-first")) text = Array.from(text).reverse().join("");
    if (result >= 0n || size === 0n) return text;
    return on("sign-behind") ? text + mark : mark + text;
  },
  python: `
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

def compute(left, operation, right):
    def read(text):
        bare = text.strip("{{mark}}")
        bare = bare[::-1] #?low-first
        return int(bare, {{base}}) * (-1 if bare != text and "{{mark}}" in text else 1)

    a, b = read(left), read(right)
    if operation == "+":
        result = a + b
    elif operation == "-":
        result = a - b
    elif operation == "*":
        result = a * b
    elif operation == "^": #?power
        result = a ** (b % 4) #?power
    else:
        result = a // b #?floor
        result = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) #!floor
    size = abs(result)
    size %= {{base}} ** {{digits}} #?wrap
    rest, text = size, ""
    while rest or not text:
        rest, digit = divmod(rest, {{base}})
        text += DIGITS[digit]
    text = " ".join(text[i:i + {{group}}] for i in range(0, len(text), {{group}})) #?groups
    text = text[::-1] #!low-first
    if result < 0 and size:
        text = "{{mark}}" + text #!sign-behind
        text += "{{mark}}" #?sign-behind
    return text
`,
});
