/** Dimensions of physical quantities: powers of the seven SI base units. */

/** Powers of metre, kilogram, second, ampere, kelvin, mole and candela, in this order. */
export type Dimension = readonly number[];

const BASE = ["m", "kg", "s", "A", "K", "mol", "cd"] as const;

export const DIMENSIONLESS: Dimension = BASE.map(() => 0);

/** Reads "kg m s-2". It is for tables, so it throws on unknown units. */
export function dimension(text: string): Dimension {
  const powers = BASE.map(() => 0);
  for (const part of text.split(" ").filter((one) => one !== "")) {
    const [, base = "", exponent = "1"] = /^([A-Za-z]+)(-?\d+)?$/u.exec(part) ?? [];
    const index = BASE.findIndex((one) => one === base);
    if (index < 0) throw new TypeError(`no base unit is written ${part}`);
    powers[index] = Number(exponent);
  }
  return powers;
}

/** a times b to the power `exponent`. */
export function combine(a: Dimension, b: Dimension, exponent: number): Dimension {
  return a.map((power, index) => power + exponent * (b[index] ?? 0));
}

/** Whether they are the same; powers may be fractions. */
export function sameDimension(a: Dimension, b: Dimension): boolean {
  return a.every((power, index) => Math.abs(power - (b[index] ?? 0)) < 1e-9);
}

/** "kg m s-2"; "1" without any. */
export function formatDimension(powers: Dimension): string {
  const parts = powers.flatMap((power, index) => (power === 0 ? [] : [`${BASE[index]}${power === 1 ? "" : power}`]));
  return parts.length === 0 ? "1" : parts.join(" ");
}
