/** Tables, reports and records, read from their prompts: equations modulo a prime, figures traced back through their notes, figures changed one by one. */
import { expect, test } from "vitest";

import { booleanQueryWriter } from "../../../../../ts/environments/catalogue/research/collections/boolean-query-writer.ts";
import { paraphraseProvenance } from "../../../../../ts/environments/catalogue/research/collections/paraphrase-provenance.ts";
import { requirementCoverage } from "../../../../../ts/environments/catalogue/research/collections/requirement-coverage.ts";
import { crosstabCompletion } from "../../../../../ts/environments/catalogue/research/tables/crosstab-completion.ts";
import { footnotedTableQuestion } from "../../../../../ts/environments/catalogue/research/tables/footnoted-table-question.ts";
import { relativeTimeline } from "../../../../../ts/environments/catalogue/research/tables/relative-timeline.ts";
import { reportTableAudit } from "../../../../../ts/environments/catalogue/research/tables/report-table-audit.ts";
import { statementTieOut } from "../../../../../ts/environments/catalogue/research/tables/statement-tie-out.ts";
import { MONTHS } from "../../../../../ts/environments/catalogue/months.ts";
import { LEVELS } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import {
  expectRight,
  expectVerdict,
  fields,
  first,
  found,
  fraction,
  posed,
} from "../../../../support/catalogue/posed.ts";

/** Larger than every value that is looked for. */
const PRIME = 65_521;

const modulo = (value: number): number => ((value % PRIME) + PRIME) % PRIME;

function inverse(value: number): number {
  let [power, result] = [modulo(value), 1];
  for (let exponent = PRIME - 2; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = (result * power) % PRIME;
    power = (power * power) % PRIME;
  }
  return result;
}

/** The one solution of linear equations, each the coefficients of its unknowns and the sum, modulo the prime. */
function solved(equations: readonly { left: ReadonlyMap<string, number>; right: number }[]): Map<string, number> {
  const open = equations.map(({ left, right }) => ({ left: new Map(left), right: modulo(right) }));
  const pivots: { unknown: string; left: Map<string, number>; right: number }[] = [];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { left, right } = next;
    const [unknown, factor = 0] = [...left].find(([, value]) => modulo(value) !== 0) ?? [];
    if (unknown === undefined) {
      expect(right).toBe(0);
      continue;
    }
    const scale = inverse(factor);
    const pivot = {
      unknown,
      left: new Map([...left].map(([name, value]) => [name, modulo(modulo(value) * scale)])),
      right: modulo(right * scale),
    };
    for (const other of [...open, ...pivots]) {
      const times = modulo(other.left.get(unknown) ?? 0);
      for (const [name, value] of pivot.left) other.left.set(name, modulo((other.left.get(name) ?? 0) - times * value));
      other.right = modulo(other.right - times * pivot.right);
    }
    pivots.push(pivot);
  }
  for (const { unknown, left } of pivots)
    expect([...left].filter(([name, value]) => name !== unknown && value !== 0)).toEqual([]);
  return new Map(pivots.map(({ unknown, right }) => [unknown, right]));
}

/** Rows of a table with bars, each a list of cells. */
const tableIn = (prompt: string): string[][] =>
  found(prompt, /^\|(.*)\|$/).map(([line = ""]) => line.split("|").map((cell) => cell.trim()));

test("crosstab-completion: sums and sentences as equations modulo a prime", () => {
  for (const one of posed(crosstabCompletion)) {
    const [head = [], ...rows] = tableIn(one.prompt);
    const cell = (column: string, row: string): string =>
      rows.find(([name]) => name === row.replace(/^by /u, ""))?.[head.indexOf(column)] ?? "";
    const term = (text: string): string => {
      const [column = "", row = ""] = first(text, /^(?:the )?(\w+) who come (.*)$/);
      return cell(column, row);
    };
    /** The sum of the factors times the cells is the value. */
    const equation = (cells: readonly (readonly [text: string, factor: number])[], value: number) => {
      const left = new Map<string, number>();
      let right = value;
      for (const [text, factor] of cells)
        if (text.startsWith("c")) left.set(text, (left.get(text) ?? 0) + factor);
        else right -= Number(text) * factor;
      return { left, right };
    };
    const lines = [...rows, ...head.map((_, column) => rows.map((row) => row[column] ?? "")).slice(1)];
    const sums = lines.map((line) => {
      const cells = line.filter((text) => /^c?\d+$/u.test(text));
      return equation(
        cells.slice(0, -1).map((text) => [text, 1] as const),
        Number(cells.at(-1)),
      );
    });
    const facts = found(one.prompt, /^- (.*)$/).map(([fact = ""]) => {
      const [, times, many = "", few = ""] = /^there are (\d+) times as many (.*) as (.*)$/u.exec(fact) ?? [];
      if (times !== undefined)
        return equation(
          [
            [term(many), 1],
            [term(few), -Number(times)],
          ],
          0,
        );
      const [, larger, more, smaller = ""] = /^(.*) are (\d+) more than (.*)$/u.exec(fact) ?? [];
      if (larger !== undefined)
        return equation(
          [
            [term(larger), 1],
            [term(smaller), -1],
          ],
          Number(more),
        );
      const [left = "", right = "", both = ""] = first(fact, /^(.*) and (the .*) are (\d+) together$/);
      return equation(
        [
          [term(left), 1],
          [term(right), 1],
        ],
        Number(both),
      );
    });
    expectRight(one, fields(solved([...sums, ...facts])));
  }
});

test("footnoted-table-question: each figure is traced back through the notes, from the last to the first", () => {
  // Twelve months over 6, 8, 9 or 10 divide by a factor of 30 at most, and a note is one of a few.
  const unit = 30n ** 8n;
  for (const one of posed(footnotedTableQuestion)) {
    const [head = [], ...rows] = tableIn(one.prompt);
    const notes = found(one.prompt, /^\(\d+\) (.*)$/).map(([note = ""]) => note);
    const after = (count: number, place: string, year: string): bigint => {
      if (count === 0) return unit * BigInt(rows.find(([name]) => name === place)?.[head.indexOf(year)] ?? "");
      const note = notes[count - 1] ?? "";
      const before = after(count - 1, place, year);
      const [, scaled, measure = ""] = /^the figures of (\w+) are given in (\w+)$/u.exec(note) ?? [];
      if (scaled !== undefined)
        return scaled === place ? before * ({ tens: 10n, dozens: 12n, hundreds: 100n }[measure] ?? 0n) : before;
      const [, wrong, then, by = "", side] =
        /^the figure of (\w+) for (\d+) is (\d+) too (low|high)$/u.exec(note) ?? [];
      if (wrong !== undefined)
        return wrong === place && then === year ? before + unit * BigInt(by) * (side === "low" ? 1n : -1n) : before;
      const [, from, whole, part = ""] =
        /^from (\d+) on, the figures of (\w+) contain those of (\w+) of/u.exec(note) ?? [];
      if (from !== undefined)
        return whole === place && Number(year) >= Number(from) ? before - after(count - 1, part, year) : before;
      const [short = "", months = ""] = first(note, /^(\d+) covers (\d+) months only, for all places/);
      return short === year ? (before * 12n) / BigInt(months) : before;
    };
    const joint = (places: string, years: string): bigint =>
      places
        .split(/, | and /u)
        .flatMap((place) => years.split(/, | and /u).map((year) => after(notes.length, place, year)))
        .reduce((a, b) => a + b, 0n);
    const [, together = "", over = ""] =
      /How many ships do (.*) have together, added up over (.*)\?/u.exec(one.prompt) ?? [];
    if (together !== "") {
      expectRight(one, fraction(joint(together, over), unit));
      continue;
    }
    const [places = "", later = "", base = ""] = first(
      one.prompt,
      /joint figure of (.*) in (\d+) greater than theirs in (\d+)/,
    );
    expectRight(one, fraction(joint(places, later), joint(places, base)));
  }
});

test("relative-timeline: sentences as equations between days, modulo a prime", () => {
  for (const one of posed(relativeTimeline)) {
    const equation = (right: number, ...terms: (readonly [town: string, factor: number])[]) => ({
      left: new Map(terms),
      right,
    });
    const days = (text: string): number => {
      const [, count = "", what = ""] = /^(an?|\d+) (day|week|month)s?$/iu.exec(text) ?? [];
      return (/\d/u.test(count) ? Number(count) : 1) * ({ day: 1, week: 7, month: 30 }[what] ?? Number.NaN);
    };
    const equations = found(one.prompt, /^L\d+\. (.*)\.$/).map(([text = ""]) => {
      const [, dated, day, month = ""] = /^The visit to (\w+) was on (\d+) (\w+)$/u.exec(text) ?? [];
      if (dated !== undefined)
        return equation(30 * MONTHS.findIndex((name) => name === month) + Number(day), [dated, 1]);
      const [, middle, from = "", to = ""] =
        /^The day in (\w+) was exactly half-way between those in (\w+) and (\w+)$/u.exec(text) ?? [];
      if (middle !== undefined) return equation(0, [middle, 2], [from, -1], [to, -1]);
      const [, gap, side, before = "", town = ""] =
        /^(.*) (after|before) (\w+) the court was in (\w+)$/u.exec(text) ?? [];
      if (gap !== undefined) return equation(days(gap) * (side === "after" ? 1 : -1), [town, 1], [before, -1]);
      const [, visited, length = "", way, other = ""] =
        /^(\w+) saw the court (.*) (earlier|later) than (\w+) did$/u.exec(text) ?? [];
      if (visited !== undefined) return equation(days(length) * (way === "later" ? 1 : -1), [visited, 1], [other, -1]);
      const [a = "", b = "", place = "", apart = ""] = first(
        text,
        /^Between (\w+) and (\w+), which came (first|second), there is a distance of (.*)$/,
      );
      return equation(days(apart) * (place === "second" ? 1 : -1), [b, 1], [a, -1]);
    });
    const visits = [...solved(equations)].toSorted(([, a], [, b]) => a - b);
    // Dates without a year fix an order only among visits of one year.
    expect(one.prompt).toMatch(/one year/u);
    for (const [index, [, day]] of visits.entries())
      expect(day > (visits[index - 1]?.[1] ?? 0) && day <= 360).toBe(true);
    expectRight(one, visits.map(([town]) => town).join(", "));
  }
});

test("report-table-audit: sentences are read one by one", () => {
  for (const one of posed(reportTableAudit)) {
    const [head = [], ...rows] = tableIn(one.prompt);
    const months = head.slice(1);
    const sold = (place: string, month: string): number =>
      Number(rows.find(([name]) => name === place)?.[head.indexOf(month)] ?? Number.NaN);
    const places = rows.map(([name = ""]) => name);
    const isTrue = (text: string): boolean => {
      const [, when, best = ""] = /^In (\w+) no other \w+ sold as many as (\w+)$/u.exec(text) ?? [];
      if (when !== undefined)
        return (
          Math.max(...places.filter((place) => place !== best).map((place) => sold(place, when))) < sold(best, when)
        );
      const [, same, later = "", earlier = ""] = /^(\w+) sold as many in (\w+) as in (\w+)$/u.exec(text) ?? [];
      if (same !== undefined) return sold(same, later) === sold(same, earlier);
      const [, who, by, side, then = "", before = ""] =
        /^(\w+) sold (\d+) (more|fewer) in (\w+) than in (\w+)$/u.exec(text) ?? [];
      if (who !== undefined) return sold(who, then) === sold(who, before) + Number(by) * (side === "more" ? 1 : -1);
      const [, month, limit, count] =
        /^In (\w+) the number of shops that sold more than (\d+) was (\d+)$/u.exec(text) ?? [];
      if (month !== undefined)
        return Number(count) === places.reduce((sum, place) => sum + Number(sold(place, month) > Number(limit)), 0);
      const [, some, total, during = ""] = /^(.*) sold (\d+) in all in (\w+)$/u.exec(text) ?? [];
      if (some !== undefined)
        return Number(total) === some.split(", ").reduce((sum, place) => sum + sold(place, during), 0);
      const [, grower, times] =
        /^The sales of (\w+) were higher than in the month before in exactly (\d+) of the months$/u.exec(text) ?? [];
      if (grower !== undefined) {
        let rises = 0;
        for (let place = 1; place < months.length; place++)
          rises += Number(sold(grower, months[place] ?? "") > sold(grower, months[place - 1] ?? ""));
        return rises === Number(times);
      }
      const [leader = "", other = "", leads] = first(
        text,
        /^(\w+) sold more than (\w+) in exactly (\d+) of the months$/,
      );
      return Number(leads) === months.filter((each) => sold(leader, each) > sold(other, each)).length;
    };
    const statements = found(one.prompt, /^(S\d+)\. (.*)\.$/);
    expectRight(one, statements.flatMap(([mark = "", text = ""]) => (isTrue(text) ? [] : [mark])).join(", "));
  }
});

test("statement-tie-out: figures are changed row by row until the columns agree too; no other set of figures does it", () => {
  for (const one of posed(statementTieOut, [1, 2, 3, 4])) {
    const [head = [], ...lines] = tableIn(one.prompt);
    const rows = lines.map(([, ...cells]) => cells.map(Number));
    const last = (head.length || 0) - 2;
    const gap = (values: readonly number[]): number =>
      (values.at(-1) ?? 0) - values.slice(0, -1).reduce((a, b) => a + b, 0);
    const column = (place: number): number[] => rows.map((row) => row[place] ?? 0);
    const repairs: { marks: string[]; sum: number }[] = [];
    const repair = (place: number, marks: readonly string[], used: readonly number[], sum: number): void => {
      const row = rows[place];
      if (row === undefined) {
        if (head.slice(1).every((_, each) => gap(column(each)) === 0)) repairs.push({ marks: [...marks], sum });
        return;
      }
      const missing = gap(row);
      if (missing === 0) {
        repair(place + 1, marks, used, sum);
        return;
      }
      for (let each = 0; each <= last; each++) {
        if (used.includes(each)) continue;
        const before = row[each] ?? 0;
        const right = before + (each === last ? -missing : missing);
        row[each] = right;
        repair(place + 1, [...marks, `${lines[place]?.[0]}${head[each + 1]}`], [...used, each], sum + right);
        row[each] = before;
      }
    };
    repair(0, [], [], 0);
    expect(repairs, one.prompt).toHaveLength(1);
    const [{ marks, sum } = { marks: [], sum: 0 }] = repairs;
    expectRight(
      one,
      fields([
        ["wrong", marks.join(", ")],
        ["sum", sum],
      ]),
    );
    // Each wrong figure is needed: as many rows as figures do not agree.
    expect(rows.filter((row) => gap(row) !== 0)).toHaveLength(marks.length);
  }
});

test("boolean-query-writer: answers that are sets of documents, by the number of words; no shorter one is right", () => {
  const rng = createRng(6);
  for (const one of posed(booleanQueryWriter, LEVELS, 4)) {
    const documents = found(one.prompt, /^D\d+\. (.*)$/).map(([words = ""]) => words.split(" "));
    const [list = ""] = first(one.prompt, /((?:D\d+, )+D\d+)/);
    const wanted = list.split(", ").reduce((bits, mark) => bits | (1 << (Number(mark.slice(1)) - 1)), 0);
    const [budget = ""] = first(one.prompt, /At most (\d+) words/);
    const all = 2 ** documents.length - 1;
    const words = [...new Set(documents.flat())];
    const holding = (word: string): number =>
      documents.reduce((bits, document, index) => bits | (document.includes(word) ? 1 << index : 0), 0);
    const bySize: Map<number, string>[] = [new Map(), new Map()];
    for (const word of words) bySize[1]?.set(holding(word), word).set(all ^ holding(word), `NOT ${word}`);
    for (let size = 2; size <= Number(budget) && bySize.every((sets) => !sets.has(wanted)); size++) {
      const sets = new Map<number, string>();
      // The last step needs no more than the sets that hit.
      const isLast = size === Number(budget);
      for (let left = 1; 2 * left <= size; left++)
        for (const [a, shorter] of bySize[left] ?? [])
          for (const [b, second] of bySize[size - left] ?? []) {
            if (!isLast || (a & b) === wanted) sets.set(a & b, `(${shorter}) AND (${second})`);
            if (!isLast || (a | b) === wanted) sets.set(a | b, `${shorter} OR NOT NOT (${second})`);
          }
      bySize.push(sets);
    }
    expect(
      bySize.findIndex((sets) => sets.has(wanted)),
      one.prompt,
    ).toBe(Number(budget));
    expectRight(one, bySize.at(-1)?.get(wanted) ?? "");
    // Queries without brackets: alternatives of words that all have to hold.
    for (let turn = 0; turn < 30; turn++) {
      const alternatives = Array.from({ length: 1 + rng.integer(2) }, () =>
        Array.from({ length: 1 + rng.integer(2) }, () => ({ word: rng.pick(words), isNot: rng.integer(3) === 0 })),
      );
      const hits = alternatives.reduce(
        (bits, parts) =>
          bits | parts.reduce((both, { word, isNot }) => both & (isNot ? all ^ holding(word) : holding(word)), all),
        0,
      );
      const query = alternatives
        .map((parts) => parts.map(({ word, isNot }) => (isNot ? `NOT ${word}` : word)).join(" AND "))
        .join(" OR ");
      expectVerdict(one, query, hits === wanted && alternatives.flat().length <= Number(budget));
    }
  }
});

test("paraphrase-provenance: passages are put back into the words of records", () => {
  const plain: readonly (readonly [RegExp, string])[] = [
    [/somebody who built with stone/iu, "a mason"],
    [/a maker of bread/iu, "a baker"],
    [/a worker of hides/iu, "a tanner"],
    [/someone who fitted windows/iu, "a glazier"],
    [/the thing that rings in a tower/iu, "a bell"],
    [/a place for grinding grain/iu, "a mill"],
    [/a way across the water/iu, "a bridge"],
    [/a shaft for drinking water/iu, "a well"],
  ];
  for (const one of posed(paraphraseProvenance)) {
    const records = new Map(found(one.prompt, /^(R\d+)\. (In .*)$/).map(([mark = "", text = ""]) => [text, mark]));
    const [fair] = first(one.prompt, /The great fair was in (\d+)\./);
    const sources = found(one.prompt, /^(P\d+)\. (.*)$/).map(([mark = "", text = ""]) => {
      const words = plain.filter(([pattern]) => pattern.test(text)).map(([, word]) => word);
      expect(words, text).toHaveLength(2);
      const [who, what] = words;
      const [later, weeks, people] = [
        /(\d+) years after the great fair/iu,
        /(\d+) weeks/u,
        /(\d+) people, the master included/u,
      ].map((pattern) => Number(pattern.exec(text)?.[1]));
      const [town = ""] = first(text, / in ([A-Z]\w+) led| from ([A-Z]\w+),|, ([A-Z]\w+) got /).filter(
        (name) => name !== "",
      );
      const record = `In ${Number(fair) + (later ?? 0)} ${who} of ${town} finished ${what} with ${(people ?? 0) - 1} helpers in ${7 * (weeks ?? 0)} days.`;
      return [mark, records.get(record) ?? "none"] as const;
    });
    expectRight(one, fields(sources));
  }
});

test("requirement-coverage: site by site, what is promised is compared with what is asked", () => {
  /** What is asked, what is promised, and whether a larger number is better. */
  const matters: readonly (readonly [asked: RegExp, promised: RegExp, isMore: boolean])[] = [
    [/faults are answered within (\d+) hours/u, /reacts to a fault after (\d+) hours at the latest/u, false],
    [/records are kept for (\d+) months/u, /records stay available for (\d+) months/iu, true],
    [/a visit costs no more than (\d+) euros/u, /for each visit (\d+) euros are charged/iu, false],
    [/at least (\d+) spare machines are on hand/u, /the supplier stores (\d+) machines in reserve/iu, true],
    [/the pressure never rises above (\d+) bar/u, /valves open at (\d+) bar/iu, false],
    [/the power supply lasts (\d+) minutes/u, /batteries bridge (\d+) minutes/iu, true],
    [/an outage ends within (\d+) days/u, /service is restored in (\d+) days or less/iu, false],
    [/staff get (\d+) hours of training/u, /training amounts to (\d+) hours yearly/iu, true],
  ];
  for (const one of posed(requirementCoverage)) {
    const clauses = found(one.prompt, /^(C\d+)\. (?:Instead of (C\d+): )?(.*) \((.*)\)\.$/);
    const gone = new Set(clauses.map(([, replaced]) => replaced));
    const inForce = clauses.filter(([mark]) => !gone.has(mark));
    const verdicts = found(one.prompt, /^(R\d+)\. In (\w+) and (\w+) (.*)\.$/).map(
      ([mark = "", a = "", b = "", text = ""]) => {
        const [asked, promised, isMore] = matters.find(([pattern]) => pattern.test(text)) ?? [];
        const wanted = Number(asked?.exec(text)?.[1]);
        const perSite = [a, b].map((site) =>
          inForce.flatMap(([, , promise = "", sites = ""]) => {
            const given = promised?.exec(promise)?.[1];
            if (given === undefined || !sites.split(", ").includes(site)) return [];
            return [isMore === true ? Number(given) >= wanted : Number(given) <= wanted];
          }),
        );
        if (perSite.flat().includes(false)) return [mark, "violated"] as const;
        const silent = perSite.filter((promises) => promises.length === 0).length;
        return [mark, silent === 0 ? "met" : silent === 1 ? "partly" : "absent"] as const;
      },
    );
    expectRight(one, fields(verdicts));
    // Amounts are those of a real contract.
    expect(one.prompt).not.toMatch(/-\d/u);
    expect(clauses.length).toBe(found(one.prompt, /^(C\d+)\. /).length);
  }
});
