/** justified-paragraph: words set into lines of a width by described rules of breaking and filling. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

export const justifiedParagraph = variantRow({
  id: "justified-paragraph",
  asks: "words set into lines of a width, with indents, filled gaps, broken words and a last line",
  name: "set_lines",
  parameters: ["text"],
  extras: ["break", "fill", "last", "indent", "left-heavy", "widow"],
  constants: (rng) => ({
    width: between(rng, 10, 22),
    indent: between(rng, 1, 7),
    hyphen: rng.pick("-~="),
    blank: rng.pick("._*+"),
  }),
  stories: [
    "A printer for receipts sets its texts in narrow columns.",
    "The captions of a game are set into boxes.",
    "A mail program formats plain texts in an unusual way.",
    "A label maker breaks texts into lines.",
  ],
  rules: `
The words of the text are set one after the other; a word goes into the present line if it fits into {{width}} characters with a blank before it (none before the first word of a line), otherwise it begins a new line.
The first line begins with {{indent}} characters {{blank}}, which count; the first word follows without a blank. #?indent
A word longer than {{width}} characters has a line to itself, and the line is then too long. #!break
A word that does not fit into a line as a whole and is longer than {{width}} characters is broken: as many of its characters as fit are put into the present line (after a blank, if it has a word already) with a {{hyphen}} behind them, and the rest is treated as a word that begins a new line. If fewer than 2 characters fit with the {{hyphen}}, it begins a new line first. #?break
If the last line has one word only and the line before it has at least three, the last word of the line before moves down to the last line. This comes before lines are filled. #?widow
Lines stay as they are. #!fill
Lines with several words and fewer than {{width}} characters, except the last one, are filled: blanks are put between the words, one at each gap in turn from the left, over and over, until the width is reached. #?fill #!left-heavy
Lines with several words and fewer than {{width}} characters, except the last one, are filled: all missing blanks go into the first gap. #?fill #?left-heavy
Every line ends behind its last word. #!left-heavy
Every line that is shorter than {{width}} gets a {{blank}} at its end at last. #?left-heavy
The last line is moved to the right, by blanks before it, until it has {{width}} characters. #?last
`,
  types: `
The argument is a text of words with single blanks between them, which has at least one word. The result is the list of the lines.
`,
  calls(_, rng) {
    const text = (count: number, size: number): string =>
      range(count)
        .map(() => "abcdefghijklmnopqrstuvwxyz".slice(0, between(rng, 1, size)))
        .join(" ");
    return {
      short: range(6).map(() => [text(between(rng, 4, 6), 9)]),
      medium: range(6).map(() => [text(between(rng, 8, 12), 8)]),
      wide: range(6).map(() => [text(between(rng, 5, 8), 24)]),
      long: range(5).map(() => [text(25, 9)]),
    };
  },
  solve([text]: readonly [string], { width, indent, hyphen, blank }, on) {
    const lines: { head: string; words: string[] }[] = [{ head: on("indent") ? blank.repeat(indent) : "", words: [] }];
    const size = (line: { head: string; words: string[] }): number => line.head.length + line.words.join(" ").length;
    const last = (): { head: string; words: string[] } => lines.at(-1) ?? { head: "", words: [] };
    for (const word of text.split(" ")) {
      let rest = word;
      while (rest !== "") {
        const line = last();
        const room = width - size(line) - (line.words.length > 0 ? 1 : 0);
        if (rest.length <= room) {
          line.words.push(rest);
          break;
        }
        if (on("break") && rest.length > width && room >= 3) {
          line.words.push(rest.slice(0, room - 1) + hyphen);
          rest = rest.slice(room - 1);
          lines.push({ head: "", words: [] });
        } else if (line.words.length > 0) lines.push({ head: "", words: [] });
        else {
          line.words.push(rest);
          break;
        }
      }
    }
    const [end, before] = [last(), lines.at(-2)];
    if (on("widow") && end.words.length === 1 && before !== undefined && before.words.length > 2)
      end.words.unshift(before.words.pop() ?? "");
    return lines.map((line, index) => {
      const isLast = index === lines.length - 1;
      let missing = Math.max(0, width - size(line));
      const gaps = line.words.slice(1).map(() => 1);
      if (on("fill") && !isLast)
        for (let place = 0; gaps.length > 0 && missing > 0; place++) {
          const gap = on("left-heavy") ? 0 : place % gaps.length;
          gaps[gap] = (gaps[gap] ?? 0) + 1;
          missing -= 1;
        }
      let out = line.head + line.words.map((word, place) => word + " ".repeat(gaps[place] ?? 0)).join("");
      if (on("left-heavy") && out.length < width) out += blank;
      return isLast && on("last") ? out.padStart(width) : out;
    });
  },
  python: `
def set_lines(text):
    lines, heads = [[]], [""]
    heads = ["{{blank}}" * {{indent}}] #?indent

    def room():
        taken = len(heads[-1]) + len(" ".join(lines[-1]))
        return {{width}} - taken - bool(lines[-1])

    def new_line():
        lines.append([])
        heads.append("")

    for word in text.split():
        while True:
            if len(word) <= room():
                lines[-1].append(word)
                break
            if len(word) > {{width}} and room() >= 3: #?break
                cut = room() - 1 #?break
                lines[-1].append(word[:cut] + "{{hyphen}}") #?break
                word = word[cut:] #?break
                new_line() #?break
                continue #?break
            if not lines[-1]:
                lines[-1].append(word)
                break
            new_line()
    if len(lines) > 1 and len(lines[-1]) == 1 and len(lines[-2]) > 2: #?widow
        lines[-1].insert(0, lines[-2].pop()) #?widow
    out = []
    for number, (head, words) in enumerate(zip(heads, lines), 1):
        final = number == len(lines)
        gaps = [1] * (len(words) - 1)
        missing = {{width}} - len(head) - len(" ".join(words)) #?fill
        if gaps and missing > 0 and not final: #?fill
            gaps[0] += missing #?fill #?left-heavy
            for turn in range(missing): #?fill #!left-heavy
                gaps[turn % len(gaps)] += 1 #?fill #!left-heavy
        line = head + "".join(w + " " * g for w, g in zip(words, gaps + [0]))
        if len(line) < {{width}}: #?left-heavy
            line += "{{blank}}" #?left-heavy
        if final: #?last
            line = line.rjust({{width}}) #?last
        out.append(line)
    return out
`,
});
