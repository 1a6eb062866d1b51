/**
 * Units by symbol and name: dimension and factor to the coherent SI unit.
 *
 * Factors are exact where a definition makes them so (SI brochure, international yard and pound, IAU), as decimals where those end; measured
 * ones are CODATA 2018.
 */
import { type Dimension, dimension } from "./dimension.ts";

export interface UnitDefinition {
  readonly dimension: Dimension;
  /** SI units in one of this. */
  readonly factor: number;
  /** Added to a value in this unit before the factor, for scales whose zero is elsewhere. */
  readonly offset: number;
}

/** Symbols separated by spaces, names likewise, dimension, factor, whether prefixes go with it, offset. */
type Row = readonly [
  symbols: string,
  names: string,
  dimension: string,
  factor: number,
  prefixes?: "prefixes" | "",
  offset?: number,
];

const FOOT = 0.3048;
const POUND = 0.45359237;
const GRAVITY = 9.80665;
const LIGHT_YEAR = 9_460_730_472_580_800;
const ASTRONOMICAL_UNIT = 149_597_870_700;

const ROWS: readonly Row[] = [
  // ---- base ----
  ["m", "meter metre", "m", 1, "prefixes"],
  ["g", "gram gramme", "kg", 1e-3, "prefixes"],
  ["s sec", "second", "s", 1, "prefixes"],
  ["A", "ampere amp", "A", 1, "prefixes"],
  ["K", "kelvin", "K", 1, "prefixes"],
  ["mol", "mole", "mol", 1, "prefixes"],
  ["cd", "candela", "cd", 1, "prefixes"],
  // ---- derived, with names of their own ----
  ["rad", "radian", "", 1, "prefixes"],
  ["sr", "steradian", "", 1, "prefixes"],
  ["Hz", "hertz", "s-1", 1, "prefixes"],
  ["N", "newton", "kg m s-2", 1, "prefixes"],
  ["Pa", "pascal", "kg m-1 s-2", 1, "prefixes"],
  ["J", "joule", "kg m2 s-2", 1, "prefixes"],
  ["W", "watt", "kg m2 s-3", 1, "prefixes"],
  ["C", "coulomb", "A s", 1, "prefixes"],
  ["V", "volt", "kg m2 s-3 A-1", 1, "prefixes"],
  ["F", "farad", "kg-1 m-2 s4 A2", 1, "prefixes"],
  ["Ω Ω ohm", "ohm", "kg m2 s-3 A-2", 1, "prefixes"],
  ["S", "siemens", "kg-1 m-2 s3 A2", 1, "prefixes"],
  ["Wb", "weber", "kg m2 s-2 A-1", 1, "prefixes"],
  ["T", "tesla", "kg s-2 A-1", 1, "prefixes"],
  ["H", "henry henries", "kg m2 s-2 A-2", 1, "prefixes"],
  ["lm", "lumen", "cd", 1, "prefixes"],
  ["lx", "lux", "cd m-2", 1, "prefixes"],
  ["Bq", "becquerel", "s-1", 1, "prefixes"],
  ["Gy", "gray", "m2 s-2", 1, "prefixes"],
  ["Sv", "sievert", "m2 s-2", 1, "prefixes"],
  ["kat", "katal", "mol s-1", 1, "prefixes"],
  // ---- temperature ----
  ["°C ℃ degC", "celsius", "K", 1, "", 273.15],
  ["°F ℉ degF", "fahrenheit", "K", 5 / 9, "", 459.67],
  ["°R degR", "rankine", "K", 5 / 9],
  // ---- time ----
  ["min", "minute", "s", 60],
  ["h hr", "hour", "s", 3600],
  ["d", "day", "s", 86_400],
  ["wk", "week", "s", 604_800],
  ["yr a", "year", "s", 31_557_600, "prefixes"],
  ["rpm", "rpm", "s-1", 1 / 60],
  // ---- angle and ratio ----
  ["° deg", "degree", "", Math.PI / 180],
  ["arcmin ′", "arcminute", "", Math.PI / 10_800],
  ["arcsec ″", "arcsecond", "", Math.PI / 648_000, "prefixes"],
  ["rev", "revolution turn", "", 2 * Math.PI],
  ["%", "percent", "", 1e-2],
  ["‰", "permille", "", 1e-3],
  ["ppm", "ppm", "", 1e-6],
  ["ppb", "ppb", "", 1e-9],
  // ---- length, area, volume ----
  ["in", "inch inches", "m", 0.0254],
  ["ft", "foot feet", "m", 0.3048],
  ["yd", "yard", "m", 0.9144],
  ["mi", "mile", "m", 1609.344],
  ["nmi", "", "m", 1852],
  ["Å Å", "angstrom ångström", "m", 1e-10],
  ["", "micron", "m", 1e-6],
  ["au AU ua", "", "m", ASTRONOMICAL_UNIT],
  ["ly lyr", "lightyear light-year", "m", LIGHT_YEAR, "prefixes"],
  ["pc", "parsec", "m", (ASTRONOMICAL_UNIT * 648_000) / Math.PI, "prefixes"],
  ["ha", "hectare", "m2", 1e4],
  ["ac", "acre", "m2", 4046.8564224],
  ["b", "barn", "m2", 1e-28, "prefixes"],
  ["L l ℓ", "liter litre", "m3", 1e-3, "prefixes"],
  ["cc", "", "m3", 1e-6],
  ["gal", "gallon", "m3", 0.003785411784],
  ["qt", "quart", "m3", 0.000946352946],
  ["pt", "pint", "m3", 0.000473176473],
  // ---- mass, amount ----
  ["t", "tonne", "kg", 1e3, "prefixes"],
  ["", "ton", "kg", 907.18474],
  ["lb lbs lbm", "pound", "kg", POUND],
  ["oz", "ounce", "kg", 0.028349523125],
  ["slug", "slug", "kg", (POUND * GRAVITY) / FOOT],
  ["u Da amu", "dalton", "kg", 1.660_539_066_6e-27, "prefixes"],
  ["M", "molar", "mol m-3", 1e3, "prefixes"],
  // ---- speed, force, pressure ----
  ["mph", "", "m s-1", 0.44704],
  ["kph kmh", "", "m s-1", 1 / 3.6],
  ["kn kt", "knot", "m s-1", 1852 / 3600],
  ["lbf", "", "kg m s-2", POUND * GRAVITY],
  ["kgf", "", "kg m s-2", GRAVITY],
  ["dyn", "dyne", "kg m s-2", 1e-5],
  ["bar", "bar", "kg m-1 s-2", 1e5, "prefixes"],
  ["atm", "atmosphere", "kg m-1 s-2", 101_325],
  ["Torr torr", "torr", "kg m-1 s-2", 101_325 / 760],
  ["mmHg", "", "kg m-1 s-2", 133.322387415],
  ["psi", "", "kg m-1 s-2", (POUND * GRAVITY) / (FOOT / 12) ** 2],
  // ---- energy, power ----
  ["eV", "electronvolt electron-volt", "kg m2 s-2", 1.602_176_634e-19, "prefixes"],
  ["cal", "calorie", "kg m2 s-2", 4.184, "prefixes"],
  ["Cal", "", "kg m2 s-2", 4184],
  ["erg", "erg", "kg m2 s-2", 1e-7],
  ["BTU Btu", "btu", "kg m2 s-2", 1055.05585262],
  ["Wh", "watthour watt-hour", "kg m2 s-2", 3600, "prefixes"],
  ["hp", "horsepower", "kg m2 s-3", 550 * FOOT * POUND * GRAVITY],
  ["Nm", "", "kg m2 s-2", 1, "prefixes"],
  ["Ns", "", "kg m s-1", 1],
  // ---- electricity, radiation, optics ----
  ["Ah", "", "A s", 3600, "prefixes"],
  ["G", "gauss", "kg s-2 A-1", 1e-4, "prefixes"],
  ["Ci", "curie", "s-1", 3.7e10, "prefixes"],
  ["D", "debye", "A s m", 1e-21 / 299_792_458],
  ["diopter", "diopter dioptre", "m-1", 1],
];

const PREFIXES: readonly (readonly [symbols: string, name: string, exponent: number])[] = [
  ["Q", "quetta", 30],
  ["R", "ronna", 27],
  ["Y", "yotta", 24],
  ["Z", "zetta", 21],
  ["E", "exa", 18],
  ["P", "peta", 15],
  ["T", "tera", 12],
  ["G", "giga", 9],
  ["M", "mega", 6],
  ["k", "kilo", 3],
  ["h", "hecto", 2],
  ["da", "deca", 1],
  ["da", "deka", 1],
  ["d", "deci", -1],
  ["c", "centi", -2],
  ["m", "milli", -3],
  ["µ μ u", "micro", -6],
  ["n", "nano", -9],
  ["p", "pico", -12],
  ["f", "femto", -15],
  ["a", "atto", -18],
  ["z", "zepto", -21],
  ["y", "yocto", -24],
  ["r", "ronto", -27],
  ["q", "quecto", -30],
];

interface Entry extends UnitDefinition {
  readonly prefixes: boolean;
}

const symbols = new Map<string, Entry>();
const names = new Map<string, Entry>();
for (const [symbolText, nameText, powers, factor, prefixes, offset = 0] of ROWS) {
  const entry: Entry = { dimension: dimension(powers), factor, offset, prefixes: prefixes === "prefixes" };
  for (const symbol of symbolText.split(" ").filter(Boolean)) symbols.set(symbol, entry);
  for (const name of nameText.split(" ").filter(Boolean)) names.set(name, entry);
}
const prefixSymbols = PREFIXES.flatMap(([texts, , exponent]) =>
  texts.split(" ").map((text) => [text, exponent] as const),
);
const prefixNames = PREFIXES.map(([, name, exponent]) => [name, exponent] as const);

/** A symbol, case mattering, before a name, case not mattering; a unit as it is before one with a prefix. Null: neither. */
export function lookUpUnit(word: string): UnitDefinition | null {
  return withPrefix(symbols, prefixSymbols, word) ?? byName(word.toLowerCase());
}

function byName(word: string): UnitDefinition | null {
  for (const singular of [word, word.replace(/s$/u, ""), word.replace(/es$/u, "")]) {
    const found = withPrefix(names, prefixNames, singular);
    if (found !== null) return found;
  }
  return null;
}

function withPrefix(
  table: ReadonlyMap<string, Entry>,
  prefixes: readonly (readonly [string, number])[],
  word: string,
): UnitDefinition | null {
  const plain = table.get(word);
  if (plain !== undefined) return plain;
  for (const [prefix, exponent] of prefixes) {
    const rest = word.startsWith(prefix) ? table.get(word.slice(prefix.length)) : undefined;
    if (rest?.prefixes === true) return { ...rest, factor: rest.factor * Number(`1e${exponent}`) };
  }
  return null;
}
