import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  convertUnit,
  parseQuantity,
  parseUnit,
  roundToFigures,
  significantFigures,
  verifyQuantity,
} from "../../../../ts/verify/science/index.ts";
import { formatDimension } from "../../../../ts/verify/science/dimension.ts";

describe("units", () => {
  it.each([
    ["N", "kg m s-2", 1],
    ["kg·m/s²", "m kg s-2", 1],
    ["kg m s^-2", "m kg s-2", 1],
    ["kg m s-2", "m kg s-2", 1],
    ["J mol^{-1} K^{-1}", "m2 kg s-2 K-1 mol-1", 1],
    ["J/mol K", "m2 kg s-2 K-1 mol-1", 1],
    ["J/(mol·K)", "m2 kg s-2 K-1 mol-1", 1],
    ["J/mol/K", "m2 kg s-2 K-1 mol-1", 1],
    [String.raw`\mathrm{J\,mol^{-1}\,K^{-1}}`, "m2 kg s-2 K-1 mol-1", 1],
    [String.raw`\frac{\text{m}}{\text{s}^2}`, "m s-2", 1],
    ["meters per second squared", "m s-2", 1],
    ["metres per second per second", "m s-2", 1],
    ["square kilometers", "m2", 1e6],
    ["cubic centimetre", "m3", 1e-6],
    ["kWh", "m2 kg s-2", 3.6e6],
    ["kNm", "m2 kg s-2", 1e3],
    ["Ns/m", "kg s-1", 1],
    ["kilowatt-hours", "m2 kg s-2", 3.6e6],
    ["µm", "m", 1e-6],
    ["μm", "m", 1e-6],
    ["um", "m", 1e-6],
    ["micrometers", "m", 1e-6],
    ["mm", "m", 1e-3],
    ["Mm", "m", 1e6],
    ["min", "s", 60],
    ["dam", "m", 10],
    ["daN", "m kg s-2", 10],
    ["cd", "cd", 1],
    ["Pa", "m-1 kg s-2", 1],
    ["hPa", "m-1 kg s-2", 100],
    ["mmHg", "m-1 kg s-2", 133.322387415],
    ["mL", "m3", 1e-6],
    ["mg/dL", "m-3 kg", 1e-2],
    ["1/s", "s-1", 1],
    ["/s", "s-1", 1],
    ["V/√m", null, 0],
    ["Hz^(1/2)", "s-0.5", 1],
    ["kΩ", "m2 kg s-3 A-2", 1e3],
    ["mol/L", "m-3 mol", 1e3],
    ["mM", "m-3 mol", 1],
    ["eV", "m2 kg s-2", 1.602176634e-19],
    ["MeV", "m2 kg s-2", 1.602176634e-13],
    ["ft·lbf", "m2 kg s-2", 0.3048 * 0.45359237 * 9.80665],
    ["apples", null, 0],
    ["m^", null, 0],
    ["(m", null, 0],
    ["m)", null, 0],
    ["m//s", null, 0],
    ["m^99", null, 0],
    ["constructor", null, 0],
  ])("%s", (text, expected, factor) => {
    const unit = parseUnit(text);
    const sorted = (one: string) => one.split(" ").toSorted().join(" ");
    expect(unit === null ? null : sorted(formatDimension(unit.dimension))).toBe(
      expected === null ? null : sorted(expected),
    );
    if (unit !== null) expect(unit.factor / factor).toBeCloseTo(1, 12);
  });

  it.each([
    [20, "°C", "K", 293.15],
    [98.6, "°F", "degrees Celsius", 37],
    [0, "K", "°F", -459.67],
    [-40, "degC", "deg F", -40],
    [491.67, "°R", "K", 273.15],
    [36, "km/h", "m/s", 10],
    [1, "atm", "kPa", 101.325],
    [1, "inch", "cm", 2.54],
    [1, "gal", "L", 3.785411784],
    [180, "degrees", "rad", Math.PI],
    [60, "mph", "km/h", 96.56064],
    [5, "cal/(g °C)", "J/(kg K)", 20920],
  ])("%d %s is so many %s: %d", (value, from, to, expected) => {
    expect(convertUnit(value, from, to)).toBeCloseTo(expected, 9);
  });

  it("of another dimension or unknown are not converted", () => {
    expect(convertUnit(1, "m", "s")).toBeNull();
    expect(convertUnit(1, "m", "furlongs per fortnight")).toBeNull();
  });

  const symbol = fc.constantFrom("m", "s", "kg", "A", "mol", "N", "Pa", "J", "kV", "µF", "mL", "h", "ft", "eV");
  const exponent = fc.integer({ min: -4, max: 4 }).filter((power) => power !== 0);

  it("convert there and back, through °C and °F too", () => {
    const pair = fc.constantFrom(["m", "ft"], ["°C", "°F"], ["K", "°F"], ["J", "kcal"], ["km/h", "kn"], ["bar", "psi"]);
    const value = fc.double({ min: -1e6, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(pair, value, ([a = "", b = ""], number) => {
        const back = convertUnit(convertUnit(number, a, b) ?? Number.NaN, b, a) ?? Number.NaN;
        expect(Math.abs(back - number)).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(number)));
      }),
    );
  });

  it("mean the same in every way of writing a product of powers", () => {
    const factors = fc.array(fc.tuple(symbol, exponent), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(factors, (list) => {
        const superscript = (power: number) =>
          String(power).replace(/[-\d]/gu, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)] ?? "");
        const spellings = [
          list.map(([one, power]) => `${one}^${power}`).join(" "),
          list.map(([one, power]) => `${one}^{${power}}`).join(String.raw`\cdot `),
          list.map(([one, power]) => `${one}${superscript(power)}`).join("·"),
          list.map(([one, power]) => `${one}${power}`).join(" "),
          list.map(([one, power]) => (power > 0 ? `/${one}^${-power}` : `/${one}^${-power}`)).join(""),
        ];
        const units = spellings.map(parseUnit);
        for (const unit of units) {
          expect(unit).not.toBeNull();
          unit?.dimension.forEach((power, index) => expect(power).toBeCloseTo(units[0]?.dimension[index] ?? NaN, 9));
          expect((unit?.factor ?? 0) / (units[0]?.factor ?? 1)).toBeCloseTo(1, 9);
        }
      }),
    );
  });

  it("end in a unit or null for any text", () => {
    fc.assert(fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (text) => void parseUnit(text)));
    fc.assert(
      fc.property(fc.array(fc.constantFrom("m", "s", "/", "(", ")", "^", "2", "-", " ", "·", "per ")), (parts) => {
        void parseUnit(parts.join(""));
      }),
    );
  });
});

describe("significant figures", () => {
  it.each([
    ["0.0450", 3, 3],
    ["1500", 2, 4],
    ["1500.", 4, 4],
    ["1.50e3", 3, 3],
    ["1002", 4, 4],
    ["100", 1, 3],
    ["0.001", 1, 1],
    ["3.00 × 10^8", 3, 3],
    [String.raw`6.02\times10^{23}`, 3, 3],
    ["1,234.0", 5, 5],
    ["-12.30", 4, 4],
    ["0", 1, 1],
    [".50", 2, 2],
  ])("%s", (text, least, most) => {
    expect(significantFigures(text)).toEqual({ least, most });
  });

  it.each(["", "abc", "3 m", "1.2.3"])("%j has none", (text) => {
    expect(significantFigures(text)).toBeNull();
  });

  it("are as many as a number was rounded to", () => {
    const value = fc.double({ min: 1e-30, max: 1e30, noNaN: true });
    fc.assert(
      fc.property(value, fc.integer({ min: 1, max: 12 }), (number, figures) => {
        const text = roundToFigures(number, figures);
        const { least = 0, most = 0 } = significantFigures(text) ?? {};
        expect(least).toBeLessThanOrEqual(figures);
        expect(most).toBeGreaterThanOrEqual(figures);
        expect(Math.abs(Number(text) - number)).toBeLessThanOrEqual(
          0.5000001 * 10 ** (Math.floor(Math.log10(number)) - figures + 1) * 10,
        );
      }),
    );
  });
});

describe("parseQuantity", () => {
  it.each([
    ["3.0e8 m/s", 3e8, null],
    ["F = 12 N", 12, null],
    ["(5.0 ± 0.1) × 10^3 kg", 5000, 100],
    ["1.6726(5)e-27 kg", 1.6726e-27, 5e-31],
    ["9.81 +/- 0.02 m/s^2", 9.81, 0.02],
    ["−12 °C", -12, null],
    ["1,234.5 m", 1234.5, null],
    ["3,5 cm", 3.5, null],
    ["10^5 Pa", 1e5, null],
    ["1/2 m", 0.5, null],
    ["$2.5\\times 10^{-3}\\ \\mathrm{mol/L}$", 2.5e-3, null],
    ["5×10⁻³ m", 5e-3, null],
    ["25%", 25, null],
  ])("%s", (text, value, uncertainty) => {
    const found = parseQuantity(text);
    expect(found?.number.value).toBeCloseTo(value, 12 - Math.floor(Math.log10(Math.abs(value) + 1)));
    expect(found?.unit).not.toBeNull();
    if (uncertainty === null) expect(found?.number.uncertainty).toBeNull();
    else expect((found?.number.uncertainty ?? 0) / uncertainty).toBeCloseTo(1, 9);
  });

  it.each(["", "m", "5 apples", "five metres", "5 m of rope"])("%j is refused", (text) => {
    expect(parseQuantity(text)).toBeNull();
  });
});

describe("verifyQuantity", () => {
  it.each([
    ["9.81 m/s^2", "9.806 m/s^2", "equal"],
    ["9.81 m/s^2", "980.7 cm/s^2", "equal"],
    ["9.81 m/s^2", "9.8 m/s^2", "different_value"],
    ["9.81 m/s^2", "9.81 m/s", "different_dimension"],
    ["9.81 m/s^2", "9.81", "missing_unit"],
    ["9.81 m/s^2", "9.81 N/kg", "equal"],
    ["25 °C", "298.15 K", "equal"],
    ["25 °C", "77 °F", "equal"],
    ["25 °C", "25 K", "different_value"],
    ["0.50", "50%", "equal"],
    ["1.00 kWh", "3.60 MJ", "equal"],
    ["5.0 ± 0.3 m", "5.25 m", "equal"],
    ["5.0 ± 0.3 m", "5.4 m", "different_value"],
    ["12 N", "The force is 12 N.", "equal"],
    ["12 N", "So the net force is \\boxed{12\\,\\mathrm{N}}", "equal"],
    ["12 N", "We have a = 3 m/s^2.\nTherefore F = ma = 4 kg × 3 m/s^2 = 12 N", "equal"],
    ["4.0e3 J", "The answer is $4.0 \\times 10^3$ J.", "equal"],
    ["12 N", "I do not know", "unparsable"],
    ["6.63e-34 J s", "6.626e-34 kg m^2/s", "equal"],
    ["1 L", "1000 mL", "equal"],
    ["90°", "1.5708 rad", "equal"],
    ["4.18 J/g°C", "4180 J/(kg·K)", "equal"],
    ["2 h 30 min", "30 min", "unparsable"],
  ])("%s against %j: %s", (gold, answer, verdict) => {
    expect(verifyQuantity(gold, answer)).toEqual({ correct: verdict === "equal", verdict });
  });

  it("has tolerances, optional units, differences of temperature and figures", () => {
    expect(verifyQuantity("100 m", "104 m", { tolerance: { relative: 0.05 } }).correct).toBe(true);
    expect(verifyQuantity("100 m", "10400 cm", { tolerance: { absolute: 3 } }).correct).toBe(false);
    expect(verifyQuantity("9.81 m/s^2", "9.8 m/s^2", { tolerance: "both" }).correct).toBe(true);
    expect(verifyQuantity("12 N", "12", { unitOptional: true }).correct).toBe(true);
    expect(verifyQuantity("10 °C", "10 K", { temperatureDifference: true }).correct).toBe(true);
    expect(verifyQuantity("2.50 m", "2.5 m", { significantFigures: "same" }).verdict).toBe("significant_figures");
    expect(verifyQuantity("2.50 m", "2.50 m", { significantFigures: "same" }).correct).toBe(true);
    expect(verifyQuantity("1500 m", "1.50 km", { significantFigures: "same" }).correct).toBe(true);
    expect(verifyQuantity("2 m", "2.00 m", { significantFigures: 3 }).correct).toBe(true);
  });

  it("refuses options that make no sense", () => {
    const refused = expect.objectContaining({ code: "PRL_VERIFY_OPTIONS" });
    expect(() => verifyQuantity("1 m", "1 m", { tolerance: { relative: -1 } })).toThrow(refused);
    expect(() => verifyQuantity("1 m", "1 m", { significantFigures: 0 })).toThrow(refused);
  });

  it("never throws for what texts contain, and every quantity equals itself", () => {
    fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => void verifyQuantity(text, text)));
    const value = fc.double({ min: -1e9, max: 1e9, noNaN: true });
    const unit = fc.constantFrom("m", "km/h", "°C", "°F", "J/(mol K)", "");
    fc.assert(
      fc.property(value, unit, (number, symbol) => {
        const text = `${number} ${symbol}`;
        expect(verifyQuantity(text, text).verdict).toBe("equal");
      }),
    );
  });
});
