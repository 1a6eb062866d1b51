/** probe-table: the cells of a hash table with open addressing under described probing, deletion and growth. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

const FREE = -1;
const DELETED = -2;

export const probeTable = variantRow({
  id: "probe-table",
  asks: "the cells of a hash table with open addressing, marks of deleted keys, growth and moved keys",
  name: "cells_after",
  parameters: ["operations"],
  extras: ["growing-step", "digit-sum", "reuse", "grow", "forward", "second-hash"],
  counts: [1, 2, 3, 4, 6],
  constants: (rng) => ({
    size: between(rng, 7, 11),
    factor: between(rng, 2, 30),
    offset: between(rng, 0, 20),
    limit: between(rng, 4, 6),
  }),
  stories: [
    "A small device stores numbers in a hash table whose memory image has to be predicted.",
    "A student's hash table must be graded by the cells that it leaves.",
    "Two teams must produce the same table on disk, so that each detail of probing is fixed.",
    "We audit a hash table by replaying its log.",
  ],
  rules: `
The table has {{size}} cells, all free (written as -1). A cell may also carry the mark of a deleted key (written as -2). All remainders below are those of a division by the present number of cells.
The home of a key k is the remainder of {{factor}} * k + {{offset}}. #!digit-sum
The home of a key k is the remainder of {{factor}} * s + {{offset}}, where s is the sum of the decimal digits of k. #?digit-sum
The probe number i, counted from 0, of a key looks at the cell whose number is the remainder of home + i. #!growing-step #!second-hash
The probe number i, counted from 0, of a key looks at the cell whose number is the remainder of home + i * (i + 1) / 2. #?growing-step #!second-hash
The probe number i, counted from 0, of a key k looks at the cell whose number is the remainder of home + i * (1 + k % 3). #!growing-step #?second-hash
The probe number i, counted from 0, of a key k looks at the cell whose number is the remainder of home + i * (i + 1) / 2 + i * (k % 3). #?growing-step #?second-hash
A search for a key makes as many probes as there are cells at most. It ends when it meets the key (found) or a free cell (not found); marks are passed over.
["add", k] searches for k; if it is found, nothing changes. Otherwise k is put into the first free cell among the probes; if there is none, nothing changes. #!reuse
["add", k] searches for k; if it is found, nothing changes. Otherwise k is put into the first cell among the probes that is free or has a mark; if there is none, nothing changes. #?reuse
["remove", k] searches for k; where it is found, the cell gets the mark.
["find", k] searches for k and adds the number of cells that it looked at to the result.
If a find meets the key in a probe with a number above 0, the key changes places with the content of the cell of the probe before. #?forward
Before an add (also of a key that is there), if the table has at least {{limit}} keys and its number of cells is {{size}}, it gets 2 * {{size}} + 1 free cells instead, and the keys are added again in the order of their old cells; marks vanish. #?grow
`,
  types: `
The argument is the list of operations; keys are positive whole numbers. The result is a list of two lists: what the finds added, and the cells at the end.
`,
  calls(_, rng) {
    const one = (): Json => [rng.pick(["add", "add", "add", "find", "find", "remove"]), between(rng, 1, 30)];
    const some = (length: number): Json[][] => range(7).map(() => [range(length).map(one)]);
    return { short: some(9), medium: some(16), long: some(24), longest: some(40) };
  },
  solve([operations]: readonly [readonly (readonly [string, number])[]], values, on) {
    const { size, factor, offset, limit } = values;
    let cells = range(size).map(() => FREE);
    const looks: number[] = [];
    const probes = (key: number): number[] => {
      const sum = on("digit-sum") ? Array.from(String(key)).reduce((total, digit) => total + Number(digit), 0) : key;
      return cells.map((_, turn) => {
        const step = on("growing-step") ? (turn * (turn + 1)) / 2 : turn;
        const more = on("second-hash") ? turn * (key % 3) : 0;
        return (factor * sum + offset + step + more) % cells.length;
      });
    };
    const search = (key: number, path: readonly number[]): { found: boolean; looked: number } => {
      for (const [turn, cell] of path.entries()) {
        if (cells[cell] === key) return { found: true, looked: turn + 1 };
        if (cells[cell] === FREE) return { found: false, looked: turn + 1 };
      }
      return { found: false, looked: path.length };
    };
    const add = (key: number): void => {
      const path = probes(key);
      if (search(key, path).found) return;
      const place = path.find((cell) => cells[cell] === FREE || (on("reuse") && cells[cell] === DELETED));
      if (place !== undefined) cells[place] = key;
    };
    for (const [kind, key] of operations) {
      const keys = cells.filter((cell) => cell >= 0);
      if (kind === "add" && on("grow") && keys.length >= limit && cells.length === size) {
        cells = range(2 * size + 1).map(() => FREE);
        for (const old of keys) add(old);
      }
      const path = probes(key);
      const { found, looked } = search(key, path);
      if (kind === "add") add(key);
      if (kind === "remove" && found) cells[at(path, looked - 1)] = DELETED;
      if (kind !== "find") continue;
      looks.push(looked);
      if (!on("forward") || !found || looked === 1) continue;
      const [here, before] = [at(path, looked - 1), at(path, looked - 2)];
      [cells[here], cells[before]] = [at(cells, before), key];
    }
    return [looks, cells];
  },
  python: `
def cells_after(operations):
    cells, looks = [-1] * {{size}}, []

    def probes(k):
        s = sum(map(int, str(k))) #?digit-sum
        s = k #!digit-sum
        for i in range(len(cells)):
            step = i * (i + 1) // 2 #?growing-step
            step = i #!growing-step
            step += i * (k % 3) #?second-hash
            yield ({{factor}} * s + {{offset}} + step) % len(cells)

    def search(k):
        path = []
        for cell in probes(k):
            path.append(cell)
            if cells[cell] in (k, -1):
                return cells[cell] == k, path
        return False, path

    def add(k):
        if search(k)[0]:
            return
        for cell in probes(k):
            if cells[cell] == -1: #!reuse
            if cells[cell] < 0: #?reuse
                cells[cell] = k
                return

    for kind, k in operations:
        if kind == "add":
            keys = [c for c in cells if c >= 0] #?grow
            if len(keys) >= {{limit}} and len(cells) == {{size}}: #?grow
                cells = [-1] * (2 * {{size}} + 1) #?grow
                for key in keys: #?grow
                    add(key) #?grow
            add(k)
            continue
        found, path = search(k)
        if kind == "remove":
            if found:
                cells[path[-1]] = -2
        else:
            looks.append(len(path))
            if found and len(path) > 1: #?forward
                a, b = path[-2:] #?forward
                cells[a], cells[b] = cells[b], cells[a] #?forward
    return [looks, cells]
`,
});
