/** run-length-text: a text written as runs, with literals, escapes and a largest run. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

export const runLengthText = variantRow({
  id: "run-length-text",
  asks: "a text as runs and literals with a least and a largest run, escapes and back references",
  name: "shorten",
  parameters: ["text"],
  extras: ["cap", "base", "again", "pairs", "trailing", "count-first", "case"],
  constants: (rng) => ({
    least: between(rng, 3, 4),
    most: between(rng, 6, 12),
    base: between(rng, 3, 9),
    mark: rng.pick("!%&=~"),
    same: rng.pick("*+?^:"),
  }),
  stories: [
    "Screens of an old terminal are sent as texts with repeated characters.",
    "A plotter takes its patterns in a short notation.",
    "The picture lines of a game are kept as short texts.",
    "Somebody packs long dull texts in a readable way.",
  ],
  rules: `
The text is cut into runs of equal characters, each as long as possible. #!cap
The text is cut into runs of equal characters, each as long as possible, but with at most {{most}} characters: a longer run is cut from the left. #?cap
Upper and lower case of a letter are equal in this; the run has the first of its characters. #?case
Blanks at the end of the text are left out before everything else. #?trailing
A run with fewer than {{least}} characters is written as it is.
A longer run is written as {{mark}}, the character and the number of its characters. #!count-first
A longer run is written as {{mark}}, the number of its characters and the character. #?count-first
This number is decimal. #!base
This number is written in base {{base}}. #?base
A run of at least {{least}} characters whose written form is that of the last run of at least {{least}} characters before it is written as {{same}} only. #?again
After that, wherever a written character is followed by itself, the two are written as one {{mark}}{{mark}} and the character; this is done from the left, without overlaps. #?pairs
`,
  types: `
The text has letters, dots and blanks only. The result is a text.
`,
  calls(_, rng) {
    const text = (runs: number, longest: number): string =>
      range(runs)
        .map(() => rng.pick("aabAB. ").repeat(between(rng, 1, longest)))
        .join("");
    const some = (runs: number, longest: number): string[][] => range(6).map(() => [text(runs, longest)]);
    return {
      short: some(4, 6),
      long: some(12, 9),
      flat: some(5, 30),
      dull: range(6).map(() => [`${text(4, 14)}aaaaabbaaaaa${" ".repeat(between(rng, 0, 4))}`]),
    };
  },
  solve([text]: readonly [string], { least, most, base, mark, same }, on) {
    const source = on("trailing") ? text.replace(/ +$/u, "") : text;
    const alike = (character: string): string => (on("case") ? character.toLowerCase() : character);
    let [out, last] = ["", ""];
    for (let from = 0; from < source.length;) {
      const character = source.charAt(from);
      let to = from;
      while (to < source.length && alike(source.charAt(to)) === alike(character) && !(on("cap") && to - from >= most))
        to++;
      const length = to - from;
      if (length < least) out += source.slice(from, to);
      else {
        const count = length.toString(on("base") ? base : 10);
        const form = mark + (on("count-first") ? count + character : character + count);
        out += on("again") && form === last ? same : form;
        last = form;
      }
      from = to;
    }
    return on("pairs") ? out.replaceAll(/(.)\1/gsu, (_, one: string) => mark + mark + one) : out;
  },
  python: `
import itertools
import re #?pairs

def in_base(number): #?base
    digits = "" #?base
    while number: #?base
        number, digit = divmod(number, {{base}}) #?base
        digits = str(digit) + digits #?base
    return digits #?base

def shorten(text):
    text = text.rstrip(" ") #?trailing
    out, last = [], None
    for _, group in itertools.groupby(text, key=str.lower): #?case
    for _, group in itertools.groupby(text): #!case
        whole = "".join(group)
        for run in [whole]: #!cap
        for run in [whole[i:i + {{most}}] for i in range(0, len(whole), {{most}})]: #?cap
            if len(run) < {{least}}:
                out.append(run)
                continue
            count = str(len(run)) #!base
            count = in_base(len(run)) #?base
            form = "{{mark}}" + run[0] + count #!count-first
            form = "{{mark}}" + count + run[0] #?count-first
            out.append("{{same}}" if form == last else form) #?again
            out.append(form) #!again
            last = form
    return "".join(out) #!pairs
    return re.sub(r"(.)\\1", r"{{mark}}{{mark}}\\1", "".join(out)) #?pairs
`,
});
