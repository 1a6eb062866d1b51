/** Measures and estimates, read from their prompts and computed by other formulas than those of the rows. */
import { expect, test } from "vitest";

import { citationMeasures } from "../../../../../ts/environments/catalogue/research/reanalysis/citation-measures.ts";
import { coderAgreement } from "../../../../../ts/environments/catalogue/research/reanalysis/coder-agreement.ts";
import { impossibleMeans } from "../../../../../ts/environments/catalogue/research/reanalysis/impossible-means.ts";
import { pooledStudies } from "../../../../../ts/environments/catalogue/research/reanalysis/pooled-studies.ts";
import { standardisedRates } from "../../../../../ts/environments/catalogue/research/reanalysis/standardised-rates.ts";
import { expectRight, fields, first, found, fraction, posed } from "../../../../support/catalogue/posed.ts";

const sum = (values: readonly bigint[]): bigint => values.reduce((a, b) => a + b, 0n);
const size = (value: bigint): bigint => (value < 0n ? -value : value);

test("citation-measures: every h is tried, and pairs are counted citation by citation", () => {
  for (const one of posed(citationMeasures)) {
    const papers = found(one.prompt, /^(P\d+) \((.*)\) cites (.*)\.$/).map(([name = "", by = "", cites = ""]) => ({
      name,
      by: by.split(", "),
      cites: cites === "nothing" ? [] : cites.split(", "),
    }));
    const byName = new Map(papers.map((paper) => [paper.name, paper]));
    const counted = new Map(papers.map(({ name }) => [name, 0]));
    const [coupled, cocited] = [new Map<string, number>(), new Map<string, number>()];
    const count = (pairs: Map<string, number>, a: string, b: string): void => {
      const pair = [a, b].toSorted().join("-");
      if (a !== b) pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
    };
    for (const paper of papers)
      for (const cited of paper.cites) {
        if (!byName.get(cited)?.by.some((author) => paper.by.includes(author)))
          counted.set(cited, (counted.get(cited) ?? 0) + 1);
        // Each pair is met from both sides.
        for (const other of paper.cites) count(cocited, cited, other);
        for (const other of papers) if (other.cites.includes(cited)) count(coupled, paper.name, other.name);
      }
    const most = (pairs: ReadonlyMap<string, number>): string => {
      const [best, next] = [...pairs].toSorted(([, a], [, b]) => b - a);
      expect(best?.[1], one.prompt).toBeGreaterThan(next?.[1] ?? 0);
      return best?.[0] ?? "";
    };
    const h = (author: string): number => {
      const own = papers.filter(({ by }) => by.includes(author)).map(({ name }) => counted.get(name) ?? 0);
      let index = 0;
      while (own.filter((cited) => cited >= index + 1).length >= index + 1) index += 1;
      return index;
    };
    const [authors = ""] = first(one.prompt, /(\w+(?:, \w+)*) are the h-indices/);
    expectRight(
      one,
      fields([
        ...authors.split(", ").map((author) => [author, h(author)] as const),
        ["coupled", most(coupled)],
        ["cocited", most(cocited)],
      ]),
    );
  }
});

test("coder-agreement: Krippendorff's table of coincidences", () => {
  // 60 is a multiple of all numbers of other codes in a unit.
  const alphaOf = (units: readonly (readonly string[])[]): [n: bigint, d: bigint] => {
    const pairable = units.filter((codes) => codes.length > 1);
    const coincidences = new Map<string, bigint>();
    for (const codes of pairable)
      for (const [place, code] of codes.entries())
        for (const [other, second] of codes.entries())
          if (place !== other) {
            const key = `${code} ${second}`;
            coincidences.set(key, (coincidences.get(key) ?? 0n) + 60n / BigInt(codes.length - 1));
          }
    const all = pairable.flat();
    const times = (code: string): bigint => BigInt(all.filter((own) => own === code).length);
    const kinds = [...new Set(all)];
    const unequal = kinds.flatMap((a) => kinds.filter((b) => b !== a).map((b) => [a, b] as const));
    const observed = sum(unequal.map(([a, b]) => coincidences.get(`${a} ${b}`) ?? 0n));
    const expected = 60n * sum(unequal.map(([a, b]) => times(a) * times(b)));
    // alpha = 1 - (n - 1) observed / expected
    return [expected - BigInt(all.length - 1) * observed, expected];
  };
  for (const one of posed(coderAgreement)) {
    const units = found(one.prompt, /^unit \d+: (.*)$/).map(([codes = ""]) => found(codes, /(C\d) (\w+)/));
    const without = (coder: string): string[][] =>
      units.map((codes) => codes.flatMap(([who, code = ""]) => (who === coder || code === "none" ? [] : [code])));
    const coders = units[0]?.map(([who = ""]) => who) ?? [];
    const odd = coders.reduce((a, b) => {
      const [[n, d], [m, e]] = [alphaOf(without(a)), alphaOf(without(b))];
      return m * d > n * e ? b : a;
    });
    expectRight(
      one,
      fields([
        ["alpha", fraction(...alphaOf(without("")))],
        ["odd", odd],
      ]),
    );
  }
});

test("impossible-means: a whole number lies between the bounds of rounding, or none does", () => {
  for (const one of posed(impossibleMeans)) {
    const lines = found(
      one.prompt,
      /^(L\d+)\. (?:mean )?(\d+)\.(\d\d)( %)? of (\d+) persons(?: \((?:answers to one item|scores of (\d) items each)\))?$/,
    );
    const impossible = lines.filter(([, units, hundredths, percent, persons, items]) => {
      const printed = BigInt(`${units}${hundredths}`);
      const answers = BigInt(persons ?? 0) * BigInt(items === "" ? 1 : (items ?? 1));
      const whole = percent === "" ? 100n : 10_000n;
      // The total lies from (printed - 1/2) answers / whole to (printed + 1/2) answers / whole.
      const [low, high] = [(2n * printed - 1n) * answers, (2n * printed + 1n) * answers];
      const least = (low + 2n * whole - 1n) / (2n * whole);
      return least > high / (2n * whole);
    });
    expectRight(one, impossible.map(([line]) => line).join(", "));
  }
});

test("pooled-studies: sums of weights, of effects and of their squares, in whole numbers", () => {
  // A multiple of all variances.
  const unit = 27_720n;
  for (const one of posed(pooledStudies)) {
    const latest = new Map<string, { year: number; effect: bigint; weight: bigint }>();
    for (const [trial = "", year = "", sign = "", whole = "", tenth = "", variance = ""] of found(
      one.prompt,
      /^- trial (T\d+), report of (\d+): effect (-?)(\d+)(?:\.(\d))?, variance (\d+)$/,
    )) {
      const effect = BigInt(`${sign}${whole}${tenth === "" ? "0" : tenth}`);
      if ((latest.get(trial)?.year ?? 0) < Number(year))
        latest.set(trial, { year: Number(year), effect, weight: unit / BigInt(variance) });
    }
    // Effects are in tenths, weights in parts of `unit`.
    const sums = (but: string): [w: bigint, we: bigint, wee: bigint] => {
      const studies = [...latest].filter(([trial]) => trial !== but).map(([, study]) => study);
      return [
        sum(studies.map(({ weight }) => weight)),
        sum(studies.map(({ weight, effect }) => weight * effect)),
        sum(studies.map(({ weight, effect }) => weight * effect * effect)),
      ];
    };
    const [w, we, wee] = sums("none");
    const shift = (trial: string): [n: bigint, d: bigint] => {
      const [v, ve] = sums(trial);
      return [size(ve * w - we * v), v * w];
    };
    const influential = [...latest.keys()].reduce((a, b) => {
      const [[n, d], [m, e]] = [shift(a), shift(b)];
      return m * d > n * e ? b : a;
    });
    expectRight(
      one,
      fields([
        ["pooled", fraction(we, 10n * w)],
        // The sum of w e² less (the sum of w e)² / the sum of w.
        ["Q", fraction(wee * w - we * we, w * 100n * unit)],
        ["influential", influential],
      ]),
    );
  }
});

test("standardised-rates: cases that the standard population would have, over one denominator", () => {
  for (const one of posed(standardisedRates)) {
    const regions = found(one.prompt, /^(R\d+): (age group 1: .*)$/).map(([name = "", text = ""]) => ({
      name,
      groups: found(text, /(\d+) of (\d+)/).map(([cases = "", people = ""]) => ({
        cases: BigInt(cases),
        people: BigInt(people),
      })),
    }));
    const standard =
      regions[0]?.groups.map((_, group) => sum(regions.map(({ groups }) => groups[group]?.people ?? 0n))) ?? [];
    const rates = regions.map(({ name, groups }) => {
      const all = groups.reduce((product, { people }) => product * people, 1n);
      const cases = sum(groups.map(({ cases: own, people }, group) => ((standard[group] ?? 0n) * own * all) / people));
      return { name, n: cases, d: all * sum(standard) };
    });
    const order = rates.toSorted((a, b) => (a.n * b.d < b.n * a.d ? -1 : 1)).map(({ name }) => name);
    expectRight(
      one,
      fields([...rates.map(({ name, n, d }) => [name, fraction(n, d)] as const), ["order", order.join(", ")]]),
    );
  }
});
