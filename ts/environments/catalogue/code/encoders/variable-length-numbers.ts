/** variable-length-numbers: bytes of a list of signed numbers in a described variable-length code. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

export const variableLengthNumbers = variantRow({
  id: "variable-length-numbers",
  asks: "the bytes of signed numbers in a described variable-length code with differences and checks",
  name: "encode",
  parameters: ["numbers"],
  extras: ["big-first", "sign-bit", "differences", "less-one", "stop", "check", "count"],
  constants: (rng) => ({ bits: between(rng, 3, 7), start: between(rng, 1, 40), factor: between(rng, 3, 31) }),
  stories: [
    "A logger of a small battery device writes its numbers in as few bytes as it can.",
    "A file format stores numbers in groups of bits.",
    "Messages of a game carry lists of numbers; here is their form on the wire.",
    "The firmware of a sensor compresses its readings as follows.",
  ],
  rules: `
The first number is stored as it is. #!differences
Instead of the numbers themselves, the differences are stored: the first number minus {{start}}, and from then on each number minus the one before it. #?differences
A stored value v becomes the code 2 * v if it is not negative, and -2 * v - 1 otherwise. #!sign-bit
A stored value v becomes the code 2 * |v|, plus 1 if v is negative. #?sign-bit
A code is divided into groups of {{bits}} bits, as few as possible but at least one.
The group with the lowest bits comes first. #!big-first
The group with the highest bits comes first. #?big-first
Before the next group is split off, the rest of the code (the code without the bits of the groups so far, shifted down) is made smaller by 1, so that no code has two forms. #?less-one
Each group is a byte; 2 to the power {{bits}} is added to all bytes of a code but the last. #!stop
Each group is a byte; 2 to the power {{bits}} is added to the last byte of a code only. #?stop
Before everything comes the byte for the number of numbers, which are at most 60. #?count
After everything comes one more byte: begin with 0, and for each byte so far multiply by {{factor}}, add the byte, and take the remainder divided by 251. #?check
`,
  types: `
The argument is a list of whole numbers between -1000000 and 1000000. The result is the list of the bytes, as whole numbers.
`,
  calls(_, rng) {
    const some = (size: number, length: number): number[][][] =>
      range(6).map(() => [range(between(rng, 1, length)).map(() => between(rng, -size, size))]);
    return { small: some(20, 5), middle: some(3000, 6), large: some(1_000_000, 4), long: some(200, 25) };
  },
  solve([numbers]: readonly [readonly number[]], { bits, start, factor }, on) {
    const size = 2 ** bits;
    const bytes: number[] = on("count") ? [numbers.length] : [];
    let before = start;
    for (const number of numbers) {
      const value = on("differences") ? number - before : number;
      before = number;
      let rest = 2 * Math.abs(value) + (value < 0 ? (on("sign-bit") ? 1 : -1) : 0);
      const groups: number[] = [];
      for (;;) {
        groups.push(rest % size);
        rest = Math.floor(rest / size);
        if (rest === 0) break;
        if (on("less-one")) rest -= 1;
      }
      if (on("big-first")) groups.reverse();
      for (const [index, group] of groups.entries())
        bytes.push(group + ((index === groups.length - 1) === on("stop") ? size : 0));
    }
    if (on("check")) bytes.push(bytes.reduce((sum, byte) => (sum * factor + byte) % 251, 0));
    return bytes;
  },
  python: `
def encode(numbers):
    out = []
    out.append(len(numbers)) #?count
    before = {{start}} #?differences
    for v in numbers:
        v, before = v - before, v #?differences
        code = 2 * v if v >= 0 else -2 * v - 1 #!sign-bit
        code = abs(v) << 1 | (v < 0) #?sign-bit
        groups = [code & (1 << {{bits}}) - 1]
        while code >> {{bits}}:
            code >>= {{bits}}
            code -= 1 #?less-one
            groups.append(code & (1 << {{bits}}) - 1)
        groups.reverse() #?big-first
        out += [g | 1 << {{bits}} for g in groups[:-1]] + groups[-1:] #!stop
        out += groups[:-1] + [groups[-1] | 1 << {{bits}}] #?stop
    check = 0 #?check
    for byte in out: #?check
        check = (check * {{factor}} + byte) % 251 #?check
    out.append(check) #?check
    return out
`,
});
