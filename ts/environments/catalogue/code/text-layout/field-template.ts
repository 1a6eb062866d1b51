/** field-template: a text with directives that place numbers and texts in fields of a width. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const fieldTemplate = variantRow({
  id: "field-template",
  asks: "a template whose directives set widths, signs, bases, groups and repeated parts",
  name: "expand",
  parameters: ["template", "values"],
  extras: ["plus", "base", "thousands", "index", "cut", "zero", "repeat"],
  constants: (rng) => ({
    mark: rng.pick("%$@"),
    base: between(rng, 3, 9),
    group: rng.pick("_'^"),
    fill: rng.pick(".*~"),
    missing: rng.pick(["?", "!", "--"]),
  }),
  stories: [
    "A small language has its own notation for formatted output.",
    "The messages of a machine are templates in its memory.",
    "Reports are produced from templates with fields.",
    "A clone of an old formatting function is needed.",
  ],
  rules: `
Characters of the template stand for themselves, except the directives, which begin with {{mark}}. {{mark}}{{mark}} stands for one {{mark}}.
A directive is {{mark}}, then flags in any order and number, then perhaps a width (digits, the first of them not 0), then a letter. Anything else behind a {{mark}} is copied with the {{mark}}. Each directive uses the next value that no directive has used; if there is none, it becomes {{missing}}, without width.
The letter d writes the value as a decimal number with a - if it is negative; for a text it writes 0. The letter s writes the value as a text.
The letter b writes the number in base {{base}}, with a - if it is negative; for a text it writes 0. #?base
A result shorter than the width gets {{fill}} before it until it has the width.
The flag < puts them behind it instead.
The flag + writes a + before numbers of d that are above 0. #?plus
The flag 0 puts zeros between the sign and the digits of a number of d until the width is reached; the flag < then means nothing. For s it means nothing. #?zero
The flag , puts {{group}} between groups of three digits of d, counted from the right, before anything is filled. #?thousands
A result longer than the width is cut to its last characters, as many as the width. #?cut
A letter i is a directive, too: it writes how many values have been used so far, and uses none. #?index
The flag = makes the directive use the value that was used last once more; if none was used, it becomes {{missing}}. #?repeat
`,
  types: `
The first argument is the template, the second the list of values, which are whole numbers and texts. The result is a text.
`,
  calls({ mark }, rng, on) {
    const chosen = (extra: "plus" | "zero" | "thousands" | "repeat" | "base" | "index", sign: string): string =>
      sign.repeat(on(extra) ? 3 : 1);
    const flags = `<<<<${chosen("plus", "+")}${chosen("zero", "0")}${chosen("thousands", ",")}${chosen("repeat", "=")}`;
    const letters = `dddddsss${chosen("base", "b")}${chosen("index", "i")}x`;
    const directive = (): string => {
      if (rng.integer(12) === 0) return mark + mark;
      const some = [...new Set(range(rng.integer(3)).map(() => rng.pick(flags)))].join("");
      return `${mark}${some}${rng.pick(["", String(between(rng, 2, 9))])}${rng.pick(letters)}`;
    };
    const value = (): Json =>
      rng.pick<Json>([between(rng, -99, 99), between(rng, -99_999, 9_999_999), "ab", "cdefgh", 0]);
    const some = (count: number): Json[][] =>
      range(7).map(() => [
        range(count)
          .map(() => rng.pick(["", "a", " ", "k="]) + directive())
          .join(""),
        range(between(rng, Math.max(1, count - 1), count)).map(value),
      ]);
    return { one: some(2), few: some(3), more: some(5), many: some(9) };
  },
  solve([template, values]: readonly [string, readonly (string | number)[]], constants, on) {
    const { mark, base, group, fill, missing } = constants;
    const known = `<${on("plus") ? "+" : ""}${on("zero") ? "0" : ""}${on("thousands") ? "," : ""}${on("repeat") ? "=" : ""}`;
    const letters = `ds${on("base") ? "b" : ""}${on("index") ? "i" : ""}`;
    const pattern = new RegExp(
      `${mark === "$" ? String.raw`\$` : mark}(?:(${mark === "$" ? String.raw`\$` : mark})|([${known}]*)([1-9][0-9]*)?([${letters}]))`,
      "gu",
    );
    let used = 0;
    return template.replaceAll(pattern, (_, ...groups: (string | undefined)[]) => {
      const [double, flags = "", digits = "0", letter = ""] = groups;
      if (double !== undefined) return mark;
      const has = (flag: string): boolean => flags.includes(flag);
      const width = Number(digits);
      let value = letter === "i" ? used : has("=") ? values[used - 1] : values[used];
      if (letter !== "i" && !has("=") && value !== undefined) used += 1;
      if (value === undefined) return missing;
      let [sign, body] = ["", String(value)];
      if (letter === "d" || letter === "b") {
        value = typeof value === "string" ? 0 : value;
        sign = value < 0 ? "-" : has("+") && letter === "d" && value > 0 ? "+" : "";
        body = Math.abs(value).toString(letter === "b" ? base : 10);
        if (has(",") && letter === "d") body = body.replaceAll(/\B(?=(\d{3})+$)/gu, group);
        if (has("0") && letter === "d") body = body.padStart(width - sign.length, "0");
      }
      const text = sign + body;
      const full = has("<") ? text.padEnd(width, fill) : text.padStart(width, fill);
      return on("cut") && width > 0 ? full.slice(-width) : full;
    });
  },
  python: `
import re

FLAGS = "<"
FLAGS += "+" #?plus
FLAGS += "0" #?zero
FLAGS += "," #?thousands
FLAGS += "=" #?repeat
LETTERS = "ds"
LETTERS += "b" #?base
LETTERS += "i" #?index

def expand(template, values):
    used = 0

    def digits(number): #?base
        text = "" #?base
        while number: #?base
            text, number = str(number % {{base}}) + text, number // {{base}} #?base
        return text or "0" #?base

    def field(match):
        nonlocal used
        if match[0] == "{{mark}}{{mark}}":
            return "{{mark}}"
        flags, width, letter = match[1], int(match[2] or 0), match[3]
        if letter == "i":
            value = used
        elif "=" in flags:
            if not used:
                return "{{missing}}"
            value = values[used - 1]
        elif used == len(values):
            return "{{missing}}"
        else:
            value = values[used]
            used += 1
        text = str(value)
        if letter in "db":
            number = value if isinstance(value, int) else 0
            sign = "-" if number < 0 else ""
            body = str(abs(number))
            if letter == "b": #?base
                body = digits(abs(number)) #?base
            if letter == "d" and "+" in flags and number > 0: #?plus
                sign = "+" #?plus
            if letter == "d" and "," in flags: #?thousands
                body = f"{abs(number):,}".replace(",", "{{group}}") #?thousands
            if letter == "d" and "0" in flags: #?zero
                body = body.rjust(width - len(sign), "0") #?zero
            text = sign + body
        text = text.ljust(width, "{{fill}}") if "<" in flags else text.rjust(width, "{{fill}}")
        if width: #?cut
            text = text[-width:] #?cut
        return text

    mark = re.escape("{{mark}}")
    return re.sub(f"{mark}(?:{mark}|([{FLAGS}]*)([1-9][0-9]*)?([{LETTERS}]))", field, template)
`,
});
