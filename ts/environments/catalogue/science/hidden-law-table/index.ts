/** hidden-law-table: the law behind a noisy table, its parameters, what it predicts, and what fewer rows would have left open. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Family, Level } from "../../row.ts";
import { LAWS } from "./laws.ts";
import { decimal, type Fit, fitOf, fitting, type Given, lawsOf, LETTERS, type Row, tenths } from "./solve.ts";
import { PROMPTS, valuesText } from "./wordings.ts";

/** By level: laws, rows, early rows, bound of the error in percent of the largest value, largest x. */
const SIZES = [
  [3, 6, 2, 0.6, 12],
  [4, 7, 2, 0.8, 14],
  [5, 8, 2, 0.9, 16],
  [6, 9, 3, 1.5, 18],
  [8, 10, 3, 1.5, 20],
] as const;
/** By level: laws that the early rows leave open, at least. */
const LEAST_DOUBT = [1, 2, 2, 2, 2] as const;
/** Laws among which rivals are looked for, for each law of the instance. */
const TRIED = 2;
const LARGEST_Y = 5_000;
/** Effort counts laws and rows more than the widths of ranges. */
const VALUES_PER_STEP = 100;

const row = fieldRow<Given>({
  id: "hidden-law-table",
  asks: "the law and the parameters behind a table with bounded errors, a prediction, and the laws that fewer rows leave open",
  draw: (rng, level) => drawGiven(rng, level),
  solve,
  wordings: PROMPTS,
  values: valuesText,
  canonical: ({ laws, rows, bound }) => [[...laws].toSorted(), rows, bound],
  isShared: true,
});

export const hiddenLawTable: Family = { id: "hidden-law-table", rows: [row] };

function drawGiven(rng: Rng, level: Level): Given | null {
  const [lawCount, rowCount, early, percent, largest] = at(SIZES, level - 1);
  const law = rng.pick(LAWS);
  const [a, b] = [between(rng, ...law.a), between(rng, ...law.b)];
  const xs = sample(range(largest), rowCount + 1, rng).map((x) => x + 1);
  const exact = xs.map((x) => 10 * law.value(x, a, b));
  const top = Math.max(...exact.map(Math.abs));
  const bound = Math.max(3, Math.round((top * percent) / 100));
  if (top > LARGEST_Y || top < 60) return null;
  const rows = xs.slice(0, rowCount).map((x, index) => ({
    x,
    y: Math.round(at(exact, index)) + between(rng, 1 - bound, bound - 1),
  }));
  // Rivals are laws that could be the one for the early rows, as far as there are enough.
  const others = LAWS.filter((one) => one !== law);
  const known = sample(others, TRIED * lawCount, rng);
  const open = new Set(lawsOf(fitting(known, rows.slice(0, early), bound)?.fits ?? []));
  const rivals = known.filter((_, index) => open.has(index)).slice(0, lawCount - 2);
  const rest = known.filter((one) => !rivals.includes(one)).slice(0, lawCount - 1 - rivals.length);
  const laws = shuffled([law, ...rivals, ...rest], rng).map(({ id }) => id);
  const given = { laws, rows, early, bound, next: at(xs, rowCount) };
  return rivals.length + 1 >= at(LEAST_DOUBT, level - 1) ? given : null;
}

export function solve({ laws: ids, rows, early, bound, next }: Given): Solution | null {
  const laws = ids.map((id) =>
    at(
      LAWS.filter((one) => one.id === id),
      0,
    ),
  );
  const first = fitting(laws, rows.slice(0, early), bound);
  const all = fitting(laws, rows, bound);
  const [only, ...others] = all?.fits ?? [];
  // One law with one pair of parameters is left.
  if (first === null || all === null || only === undefined || others.length > 0) return null;
  const value = tenths(at(laws, only.law), next, only);
  // A prediction near 0 is no prediction.
  if (value === null || Math.abs(value) < 10) return null;
  const letters = LETTERS.slice(0, laws.length).split("");
  const doubt = lawsOf(first.fits);
  const fields = (fit: Fit, predicted: number, open: readonly number[]): string[] => [
    at(letters, fit.law),
    String(fit.a),
    String(fit.b),
    decimal(predicted),
    marked(open.map((one) => at(letters, one))),
  ];
  const rivals = doubt.filter((one) => one !== only.law).map((one) => fitOf(first.fits, one));
  const slips = [
    ...rivals.map((fit) => fields(fit, tenths(at(laws, fit.law), next, fit) ?? value + 1, doubt)),
    ...(doubt.length > 1 ? [fields(only, value, [only.law])] : []),
    ...(doubt.length < laws.length ? [fields(only, value, range(laws.length))] : []),
    ...(only.a === only.b ? [] : [fields({ ...only, a: only.b, b: only.a }, value, doubt)]),
    fields({ ...only, a: only.a + 1 }, value, doubt),
    fields(only, nearest(rows, next) === value ? value + 1 : nearest(rows, next), doubt),
  ];
  const [law = "", a = "", b = "", predicted = "", open = ""] = fields(only, value, doubt);
  return {
    fields: [
      { name: "law", kind: "word", value: law, options: letters },
      { name: "a", kind: "number", value: a },
      { name: "b", kind: "number", value: b },
      { name: "next", kind: "number", value: predicted },
      { name: "open", kind: "set", value: open, options: letters },
    ],
    slips,
    steps: laws.length * rows.length + Math.round(all.values / VALUES_PER_STEP),
  };
}

/** The measured value whose x is nearest. */
function nearest(rows: readonly Row[], x: number): number {
  return at(
    rows.toSorted((p, q) => Math.abs(p.x - x) - Math.abs(q.x - x)),
    0,
  ).y;
}
