/** outline-numbers: numbers of headings by depth under a described scheme. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const outlineNumbers = variantRow({
  id: "outline-numbers",
  asks: "the numbers of headings with letters, appendices, skipped depths and restarts",
  name: "numbered",
  parameters: ["headings"],
  extras: ["letters", "appendix", "gaps", "unnumbered", "cap", "continue"],
  constants: (rng) => ({
    first: between(rng, 0, 30),
    mark: rng.pick("#*!"),
    joint: rng.pick(".-/"),
    most: between(rng, 2, 3),
    end: rng.pick(").:"),
  }),
  stories: [
    "A word processor numbers headings as a publisher wants it.",
    "Paragraphs of a contract are numbered automatically.",
    "A converter adds numbers to the headings of a manual.",
    "The outline of a talk is numbered by a script.",
  ],
  rules: `
Each heading has a depth from 1 to 4 and a title. A heading gets the numbers of the headings above it and its own, with {{joint}} between them, then {{end}}, a blank and its title.
The first heading of each depth below the same heading has the number {{first}}, and each further one the next number. #!continue
The first heading of each depth below the same heading has the number {{first}}, and each further one the next number; but headings of depth 2 go on counting when a new heading of depth 1 begins. #?continue
If a heading is deeper than the one before it by more than 1, each depth between them counts as a heading without a line, with the number {{first}} (or the next number, if the same depth has been counted already). The first heading is treated as if a heading of depth 0 stood before it. #!gaps
If a heading is deeper than the one before it by more than 1 (for the first heading: deeper than 1), it counts as a heading that is deeper by 1 only. #?gaps
Numbers of depth 2 are written as letters: 0 is a, 1 is b and so on, and after z comes aa, ab and so on. #?letters
A heading of depth 1 with the title "Extra" begins the appendix: from it on, the numbers of depth 1 begin again at {{first}} and are written with an X before them. A second one begins no new appendix. #?appendix
A heading whose title begins with {{mark}} gets no number: its line is the title without the {{mark}}, and it counts for nothing else. #?unnumbered
Headings deeper than {{most}} (in the depth that counts) are counted, but their line is the title alone. #?cap
`,
  types: `
The argument is a list of headings [depth, title]. The result is the list of the lines.
`,
  calls({ mark }, rng, on) {
    const one = (): Json => {
      const title = rng.pick(["Start", "Use", "Parts", "Extra", "End"]);
      return [between(rng, 1, rng.pick([1, 2, 3, 4])), on("unnumbered") && rng.integer(4) === 0 ? mark + title : title];
    };
    const some = (count: number): Json[][] => range(6).map(() => [range(count).map(one)]);
    return { short: some(4), medium: some(8), long: some(14), longest: some(35) };
  },
  solve([headings]: readonly [readonly (readonly [number, string])[]], { first, mark, joint, most, end }, on) {
    let counts: number[] = [];
    let [second, isExtra]: [number | null, boolean] = [null, false];
    const letters = (value: number): string => {
      let out = "";
      for (let left = value; left >= 0; left = Math.floor(left / 26) - 1)
        out = String.fromCharCode(97 + (left % 26)) + out;
      return out;
    };
    const count = (depth: number, title: string): void => {
      const isNew = counts.length < depth;
      let next = isNew ? first : (counts[depth - 1] ?? 0) + 1;
      if (depth === 2 && on("continue")) {
        if (second !== null) next = second + 1;
        second = next;
      }
      if (depth === 1 && on("appendix") && title === "Extra" && !isExtra) {
        isExtra = true;
        next = first;
      }
      counts = [...counts.slice(0, depth - 1), next];
    };
    return headings.map(([given, title]) => {
      if (on("unnumbered") && title.startsWith(mark)) return title.slice(mark.length);
      const depth = on("gaps") ? Math.min(given, counts.length + 1) : given;
      for (let missing = counts.length + 1; missing < depth; missing++) count(missing, "");
      count(depth, title);
      if (on("cap") && depth > most) return title;
      const numbers = counts.map((value, index) => {
        if (index === 0) return (isExtra ? "X" : "") + String(value);
        return index === 1 && on("letters") ? letters(value) : String(value);
      });
      return `${numbers.join(joint)}${end} ${title}`;
    });
  },
  python: `
def letters(value): #?letters
    out = "" #?letters
    while value >= 0: #?letters
        out, value = chr(97 + value % 26) + out, value // 26 - 1 #?letters
    return out #?letters

def numbered(headings):
    counts, out, extra = [], [], ""
    second = None #?continue

    def count(depth, title):
        nonlocal extra
        nonlocal second #?continue
        number = counts[depth - 1] + 1 if len(counts) >= depth else {{first}}
        if depth == 2: #?continue
            number = {{first}} if second is None else second + 1 #?continue
            second = number #?continue
        if depth == 1 and title == "Extra" and not extra: #?appendix
            extra, number = "X", {{first}} #?appendix
        counts[depth - 1:] = [number]

    for depth, title in headings:
        if title.startswith("{{mark}}"): #?unnumbered
            out.append(title[1:]) #?unnumbered
            continue #?unnumbered
        depth = min(depth, len(counts) + 1) #?gaps
        for missing in range(len(counts) + 1, depth): #!gaps
            count(missing, "") #!gaps
        count(depth, title)
        if depth > {{most}}: #?cap
            out.append(title) #?cap
            continue #?cap
        numbers = [str(n) for n in counts]
        numbers[0] = extra + numbers[0]
        if depth > 1: #?letters
            numbers[1] = letters(counts[1]) #?letters
        out.append("{{joint}}".join(numbers) + "{{end}} " + title)
    return out
`,
});
