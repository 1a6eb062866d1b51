/** text-table: rows of cells drawn as a table of text with alignment, cuts, wrapped cells and rules. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const textTable = variantRow({
  id: "text-table",
  asks: "a table of text with aligned numbers, cut or wrapped cells, repeated values and rules between groups",
  name: "table",
  parameters: ["rows"],
  extras: ["numbers", "wrap", "repeat", "groups", "edge", "center"],
  constants: (rng) => ({
    widest: between(rng, 4, 9),
    bar: rng.pick("|!:"),
    line: rng.pick("-=~"),
    cross: rng.pick("+*#"),
    cut: rng.pick("$%&@^"),
  }),
  stories: [
    "Results of queries are shown in a terminal.",
    "A tool writes its report as a table of plain text.",
    "Tables in the comments of a program are formatted automatically.",
    "A chat robot shows lists as tables.",
  ],
  rules: `
A column is as wide as its longest cell, but never wider than {{widest}} characters.
A cell that is longer than its column is cut to the width minus 1, with {{cut}} behind it. #!wrap
A cell that is longer than its column is cut into pieces of this width, which stand below each other; a row has as many lines as its cell with most pieces, and cells with fewer are empty in the others. #?wrap
Shorter cells are filled with blanks on the right. #!center
Shorter cells are filled with blanks on both sides; if their number is odd, the right side gets one more. #?center
A cell (or piece) that consists of digits only is filled on the left instead. #?numbers
A line is made of its cells with " {{bar}} " between them. #!edge
A line is made of its cells with " {{bar}} " between them, with "{{bar}} " before the first and " {{bar}}" behind the last one. #?edge
Behind the first row comes a rule: as many {{line}} as the width of each column, with {{line}}{{cross}}{{line}} between the columns. #!edge
Behind the first row comes a rule: as many {{line}} as the width of each column, with {{line}}{{cross}}{{line}} between the columns, with {{cross}}{{line}} before the first and {{line}}{{cross}} behind the last one. #?edge
From the third row on, a cell in the first column that is equal to the cell above it is shown empty; it still counts for the width. #?repeat
Before every row from the third one on whose first cell differs from the one above it, the same rule stands. #?groups
`,
  types: `
The argument is a list of rows, each a list of the same number of texts. The result is the list of the lines.
`,
  calls(_, rng) {
    const cell = (): string =>
      rng.pick([
        String(rng.integer(2000)),
        "abcdefghijklmnop".slice(0, rng.integer(12)),
        "xyz".slice(0, rng.integer(4)),
      ]);
    const rows = (height: number, width: number): Json =>
      range(height).map((row) =>
        range(width).map((column) => (column === 0 && row > 0 ? rng.pick(["a", "bb", "longname1"]) : cell())),
      );
    const some = (height: number, width: number): Json[][] => range(6).map(() => [rows(height, width)]);
    return { small: some(3, 2), medium: some(5, 3), tall: some(9, 2), wide: some(4, 5) };
  },
  solve([rows]: readonly [readonly (readonly string[])[]], { widest, bar, line, cross, cut }, on) {
    const widths = (rows[0] ?? []).map((_, column) =>
      Math.min(widest, Math.max(...rows.map((row) => row[column]?.length ?? 0))),
    );
    const framed = (cells: readonly string[], filler: string, sign: string): string => {
      const text = cells.join(filler + sign + filler);
      return on("edge") ? sign + filler + text + filler + sign : text;
    };
    const rule = framed(
      widths.map((width) => line.repeat(width)),
      line,
      cross,
    );
    const filled = (text: string, width: number): string => {
      if (on("numbers") && /^\d+$/u.test(text)) return text.padStart(width);
      const left = on("center") ? Math.floor((width - text.length) / 2) : 0;
      return (" ".repeat(left) + text).padEnd(width);
    };
    return rows.flatMap((row, index) => {
      const above = rows[index - 1]?.[0];
      const shown = row.map((cell, column) =>
        on("repeat") && index > 1 && column === 0 && cell === above ? "" : cell,
      );
      const pieces = shown.map((cell, column) => {
        const width = widths[column] ?? 0;
        if (cell.length <= width) return [cell];
        if (!on("wrap")) return [cell.slice(0, width - 1) + cut];
        return range(Math.ceil(cell.length / width)).map((place) => cell.slice(place * width, (place + 1) * width));
      });
      const lines = range(Math.max(...pieces.map((some) => some.length))).map((place) =>
        framed(
          pieces.map((some, column) => filled(some[place] ?? "", widths[column] ?? 0)),
          " ",
          bar,
        ),
      );
      const isNew = on("groups") && index > 1 && row[0] !== above;
      return [...(isNew ? [rule] : []), ...lines, ...(index === 0 ? [rule] : [])];
    });
  },
  python: `
def table(rows):
    widths = [min({{widest}}, max(map(len, column))) for column in zip(*rows)]

    def frame(cells, filler, sign):
        text = (filler + sign + filler).join(cells)
        text = sign + filler + text + filler + sign #?edge
        return text

    def fill(text, width):
        if text.isdigit(): #?numbers
            return text.rjust(width) #?numbers
        text = " " * ((width - len(text)) // 2) + text #?center
        return text.ljust(width)

    rule = frame(["{{line}}" * w for w in widths], "{{line}}", "{{cross}}")
    out = []
    for i, row in enumerate(rows):
        same = i > 1 and row[0] == rows[i - 1][0]
        if i > 1 and not same: #?groups
            out.append(rule) #?groups
        pieces = []
        for j, (cell, width) in enumerate(zip(row, widths)):
            if j == 0 and same: #?repeat
                cell = "" #?repeat
            if len(cell) > width:
                pieces.append([cell[:width - 1] + "{{cut}}"]) #!wrap
                pieces.append([cell[k:k + width] for k in range(0, len(cell), width)]) #?wrap
            else:
                pieces.append([cell])
        for k in range(max(map(len, pieces))):
            out.append(frame([fill((p[k:] or [""])[0], w) for p, w in zip(pieces, widths)], " ", "{{bar}}"))
        if i == 0:
            out.append(rule)
    return out
`,
});
