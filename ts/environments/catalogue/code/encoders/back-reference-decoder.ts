/** back-reference-decoder: a text from literals and copies of earlier characters under described rules. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const backReferenceDecoder = variantRow({
  id: "back-reference-decoder",
  asks: "a text from literals and copies, with windows, remembered distances, mirrored copies and overlaps",
  name: "unpack",
  parameters: ["tokens"],
  extras: ["window", "recent", "mirror", "no-overlap", "absolute", "shift"],
  constants: (rng) => ({
    least: between(rng, 1, 3),
    window: between(rng, 6, 14),
    turn: between(rng, 1, 9),
    pad: rng.pick("_#-=~"),
  }),
  stories: [
    "A decoder for the archives of an old program is missing.",
    "Texts were packed by pointing back at what came before.",
    "A game packs its dialogues with copies of earlier text.",
    "The boot loader unpacks its messages by this procedure.",
  ],
  rules: `
The output begins empty; the tokens are carried out in order.
["lit", s] appends the text s.
["copy", d, n] appends n + {{least}} characters of the output, beginning d characters before its end. #!absolute
["copy", d, n] appends n + {{least}} characters of the output, beginning with the character number d, counted from 0. #?absolute
A copy goes one character at a time, so that it may read characters that it has written itself. #!no-overlap
A copy reads only characters that were there before it; where it comes to their end, it goes on at its first character. #?no-overlap
Wherever a copy would begin before the output or at its end or behind it, it appends that many characters {{pad}} instead. #!window
Wherever a copy would begin before the output or at its end or behind it, or more than {{window}} characters before its end, it appends that many characters {{pad}} instead. #?window
["again", n] is a copy with the number d of the last copy (0, if there was none; an again does not count as a copy). #?recent
["back", d, n] appends the characters that ["copy", d, n] would append, but in reverse order. #?mirror
Each character that a copy appends is moved forward by {{turn}} places in the alphabet a to z, and after z comes a, if it is one of its letters. Later copies, and later characters of the same copy, read what was appended. #?shift
`,
  types: `
The argument is the list of tokens; the numbers are not negative. The result is the output, a text.
`,
  calls(_, rng, on) {
    const one = (): Json => {
      const kind = rng.pick([
        "lit",
        "lit",
        "copy",
        "copy",
        "copy",
        ...(on("recent") ? ["again"] : []),
        ...(on("mirror") ? ["back"] : []),
      ]);
      if (kind === "lit")
        return [
          kind,
          range(between(rng, 1, 5))
            .map(() => rng.pick("abcdexyz."))
            .join(""),
        ];
      return kind === "again" ? [kind, rng.integer(5)] : [kind, rng.integer(12) + 1, rng.integer(7)];
    };
    const some = (length: number): Json[][] => range(7).map(() => [[["lit", "axbyz"], ...range(length).map(one)]]);
    return { short: some(4), medium: some(8), long: some(14), longest: some(24) };
  },
  solve([tokens]: readonly [readonly (readonly [string, string | number, number])[]], values, on) {
    const { least, window, turn, pad } = values;
    const moved = (character: string): string =>
      on("shift") && /[a-z]/u.test(character)
        ? String.fromCharCode(((character.charCodeAt(0) - 97 + turn) % 26) + 97)
        : character;
    const copied = (output: string, distance: number, count: number): string => {
      const start = on("absolute") ? distance : output.length - distance;
      if (start < 0 || start >= output.length || (on("window") && output.length - start > window))
        return pad.repeat(count);
      let all = output;
      for (let index = 0; index < count; index++)
        all += moved(all.charAt(on("no-overlap") ? start + (index % (output.length - start)) : start + index));
      return all.slice(output.length);
    };
    let [out, last] = ["", 0];
    for (const [kind, first, second] of tokens) {
      if (kind === "lit") out += String(first);
      else if (kind === "again") out += copied(out, last, Number(first) + least);
      else {
        const text = copied(out, Number(first), second + least);
        if (kind === "copy") last = Number(first);
        out += kind === "copy" ? text : Array.from(text).reverse().join("");
      }
    }
    return out;
  },
  python: `
def unpack(tokens):
    out = []

    def turned(c): #?shift
        return chr((ord(c) - 97 + {{turn}}) % 26 + 97) if "a" <= c <= "z" else c #?shift

    def copy(d, n):
        n += {{least}}
        start = d #?absolute
        start = len(out) - d #!absolute
        if not 0 <= start < len(out):
            return ["{{pad}}"] * n
        if len(out) - start > {{window}}: #?window
            return ["{{pad}}"] * n #?window
        seen = list(out)
        for i in range(n):
            c = seen[start + i] #!no-overlap
            c = out[start + i % (len(out) - start)] #?no-overlap
            c = turned(c) #?shift
            seen.append(c)
        return seen[len(out):]

    last = 0
    for kind, *rest in tokens:
        if kind == "lit":
            out.extend(rest[0])
        elif kind == "copy":
            out += copy(*rest)
            last = rest[0]
        elif kind == "again": #?recent
            out += copy(last, rest[0]) #?recent
        elif kind == "back": #?mirror
            out += copy(*rest)[::-1] #?mirror
    return "".join(out)
`,
});
