/** isotope-age-data: age and initial ratio of a rock from an isochron, with one sample that was disturbed. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal, rounded } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Given {
  /** Ratios of the parent and of the daughter to the stable isotope. */
  samples: { parent: number; daughter: number }[];
  /** In 10^-11 per year. */
  decay: number;
  hasDisturbed: boolean;
}

/** By level: samples. From level 2 on one is disturbed. */
const SAMPLES = [2, 4, 5, 7, 9] as const;
/** Daughter ratios are rounded to so many decimals. */
const DIGITS = 6;
const FITS = 2e-6;
const MISSES = 2e-5;

export const isotopeAgeData = quantityRow<Given>({
  id: "isotope-age-data",
  asks: "age and initial ratio of a rock from isotope ratios of minerals, one of which was disturbed",
  draw,
  solve,
  asides: [
    "The rock was found 240 m below the ground.",
    "Each sample weighed 30 mg.",
    "The mass spectrometer ran for 5 hours.",
    "The quarry has been open since 1911.",
  ],
  wordings: [
    (one, aside) =>
      `Minerals of one rock, with n the amount of the radioactive parent and m that of its daughter, each divided by the amount of a stable isotope of the daughter's element:\n${list(one)}\n${aside} ${disturbed(one)}The parent decays with the constant ${one.decay}e-11 per year. Find the age t and the common initial ratio m0 of the minerals.`,
    (one, aside) =>
      `Date a rock whose minerals formed together, with one ratio m0 of daughter to stable isotope. ${disturbed(one)}Measured today (n: parent, m: daughter, both relative to the stable isotope):\n${list(one)}\nDecay constant ${one.decay}e-11 per year. ${aside} Wanted: t and m0.`,
    (one, aside) =>
      `Isochron data, parent/stable n and daughter/stable m:\n${list(one)}\n${disturbed(one)}${aside} With the decay constant ${one.decay}e-11 per year, how long ago did the minerals close (t), and which m0 did they have then?`,
    (one, aside) =>
      `${disturbed(one)}The ratios n (parent) and m (daughter) of minerals are\n${list(one)}\nwhere both are relative to one stable isotope. ${aside} Determine from m = m0 + n (e^(λt) - 1), λ = ${one.decay}e-11 per year, the age t and m0.`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const decay = decimal(rng, 1.2, 16, 2);
  const grown = Math.expm1(decay * 1e-11 * between(rng, 150, 3500) * 1e6);
  const initial = decimal(rng, 0.69, 0.73, 4);
  const samples = range(at(SAMPLES, level - 1)).map(() => {
    const parent = decimal(rng, 0.05, 4, 3);
    return { parent, daughter: rounded(initial + parent * grown, DIGITS) };
  });
  if (level > 1) {
    const moved = rng.pick(samples);
    moved.daughter = rounded(moved.daughter + (rng.integer(2) === 0 ? -1 : 1) * grown * (0.2 + rng.next()), DIGITS);
  }
  return { samples, decay, hasDisturbed: level > 1 };
}

function solve({ samples, decay, hasDisturbed }: Given): Solution | null {
  const parents = samples.map(({ parent }) => parent).toSorted((a, b) => a - b);
  if (range(parents.length - 1).some((index) => at(parents, index + 1) - at(parents, index) < 0.04)) return null;
  const line = (left: number) => lineOf(samples.filter((_, index) => index !== left));
  const all = line(-1);
  const lines = range(samples.length).map(line);
  const good = range(samples.length).filter((index) => at(lines, index).misfit < MISSES);
  if (hasDisturbed && good.length !== 1) return null;
  const left = good[0] ?? 0;
  const right = hasDisturbed ? at(lines, left) : all;
  if (right.misfit > FITS || right.slope <= 0) return null;
  const age = (slope: number): number => Math.log1p(slope) / (decay * 1e-5);
  const values = ({ slope, start }: Line): number[] => [slope > 0 ? age(slope) : 1, start];
  const [t = 0, m0 = 0] = values(right);
  const [first] = samples;
  return {
    parts: [
      { name: "t", value: t, unit: "Myr" },
      { name: "m0", value: m0, unit: "", relative: 0.0005 },
    ],
    ...(hasDisturbed
      ? { words: [{ name: "sample", value: `M${left + 1}`, options: samples.map((_, index) => `M${index + 1}`) }] }
      : {}),
    slips: [
      [age((first?.daughter ?? 0) / (first?.parent ?? 1)), m0],
      [right.slope / (decay * 1e-5) / Math.LN2, m0],
      [t, Math.min(...samples.map(({ daughter }) => daughter)) * 1.01],
      ...(hasDisturbed ? [values(all)] : []),
    ],
    steps: hasDisturbed ? samples.length * samples.length : 2,
  };
}

interface Line {
  slope: number;
  start: number;
  misfit: number;
}

function lineOf(samples: Given["samples"]): Line {
  const mean = (value: (one: Given["samples"][number]) => number): number =>
    samples.reduce((sum, one) => sum + value(one), 0) / samples.length;
  const [x, y] = [mean(({ parent }) => parent), mean(({ daughter }) => daughter)];
  const slope = mean(({ parent, daughter }) => (parent - x) * (daughter - y)) / mean(({ parent }) => (parent - x) ** 2);
  const start = y - slope * x;
  return { slope, start, misfit: Math.sqrt(mean(({ parent, daughter }) => (daughter - start - slope * parent) ** 2)) };
}

function disturbed({ hasDisturbed }: Given): string {
  return hasDisturbed
    ? "One of the minerals exchanged material later and does not fit the others, which agree to the last digit; name it (sample) and leave it out. "
    : "";
}

function list({ samples }: Given): string {
  return samples.map(({ parent, daughter }, index) => `- M${index + 1}: n = ${parent}, m = ${daughter}`).join("\n");
}
