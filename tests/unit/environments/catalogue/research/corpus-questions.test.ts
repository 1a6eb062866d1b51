/** Questions over documents against joins, states by person, recursion from the goal, and facts read out of the prompt. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import type { FieldInstance } from "../../../../../ts/environments/catalogue/field-row.ts";
import { crossDocumentAggregate } from "../../../../../ts/environments/catalogue/research/corpus-questions/cross-document-aggregate.ts";
import { officeAtDate } from "../../../../../ts/environments/catalogue/research/corpus-questions/office-at-date.ts";
import { relationChainQuestion } from "../../../../../ts/environments/catalogue/research/corpus-questions/relation-chain-question.ts";
import { retractedSupportTrace } from "../../../../../ts/environments/catalogue/research/corpus-questions/retracted-support-trace.ts";
import { ruleInferredRelation } from "../../../../../ts/environments/catalogue/research/corpus-questions/rule-inferred-relation.ts";
import { shiftingNamesChase } from "../../../../../ts/environments/catalogue/research/corpus-questions/shifting-names-chase.ts";
import { unitMixedSynthesis } from "../../../../../ts/environments/catalogue/research/corpus-questions/unit-mixed-synthesis.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { expectAgreement } from "./solved-instances.ts";

test("relation-chain-question: the join of all present facts has one chain", () => {
  interface Given {
    documents: { relation: number; from: string; to: string; isPast: boolean }[][];
    start: string;
    path: number[];
  }
  expectAgreement(
    relationChainQuestion,
    ({ documents, start, path }: Given) => {
      const rows = documents.flatMap((facts, place) => facts.map((fact) => ({ ...fact, mark: `D${place + 1}` })));
      let chains = rows.filter(({ isPast }) => !isPast).map((fact) => [fact]);
      for (let size = 1; size < path.length; size++)
        chains = chains.flatMap((chain) =>
          rows.filter((fact) => !fact.isPast && fact.from === chain.at(-1)?.to).map((fact) => [...chain, fact]),
        );
      const found = chains.filter(
        (chain) => chain[0]?.from === start && chain.map(({ relation }) => relation).join() === path.join(),
      );
      return found.flatMap((chain) => [chain.at(-1)?.to ?? "", chain.map(({ mark }) => mark).join(", ")]);
    },
    [1, 2, 3],
  );
});

test("cross-document-aggregate: the table is read out of the prompt", () => {
  const all = (text: string, ...patterns: RegExp[]): string[][] =>
    patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => [match[1] ?? "", match[2] ?? ""]));
  const swapped = (pairs: string[][]): string[][] => pairs.map(([a = "", b = ""]) => [b, a]);
  expectAgreement(crossDocumentAggregate, (_: object, prompt) => {
    const towns = new Map([
      ...all(prompt, /yard (\w+) lies on the quay of (\w+)/giu),
      ...swapped(all(prompt, /in (\w+) the slips of the yard (\w+)/giu, /visitors to (\w+) may see the yard (\w+)/giu)),
    ] as [string, string][]);
    const yards = new Map<string, string>();
    const years = new Map<string, number>();
    for (const [, ship = "", yard = "", year = ""] of [
      ...prompt.matchAll(/the (\w+) left the slip of (\w+) in (\d+)/giu),
      ...[...prompt.matchAll(/in (\d+) the yard (\w+) launched the (\w+)/giu)].map(([, c, b, a]) => ["", a, b, c]),
      ...prompt.matchAll(/we saw the (\w+) launched at (\w+); that was in (\d+)/giu),
    ]) {
      yards.set(ship, yard);
      years.set(ship, Number(year));
    }
    const tons = new Map([
      ...all(prompt, /the (\w+) measures (\d+) tons/giu, /entered: (\w+), (\d+) tons/giu),
      ...swapped(all(prompt, /with (\d+) tons the (\w+) pays/giu)),
    ] as [string, string][]);
    const lost = new Set(
      [...prompt.matchAll(/(?:\d the (\w+) went down|the (\w+) was wrecked|of the (\w+) nothing)/giu)].map(
        ([, a, b, c]) => a ?? b ?? c ?? "",
      ),
    );
    const town = /built in a yard of (\w+)/u.exec(prompt)?.[1];
    const since = Number(/launched in (\d+) or later/u.exec(prompt)?.[1] ?? 0);
    const above = Number(/more than (\d+) tons/u.exec(prompt)?.[1] ?? 0);
    const state = /were (lost at some time|never lost)/u.exec(prompt)?.[1];
    const found = [...yards.keys()]
      .filter((ship) => towns.get(yards.get(ship) ?? "") === town && (years.get(ship) ?? 0) >= since)
      .filter((ship) => Number(tons.get(ship)) > above)
      .filter((ship) => state === undefined || (state === "never lost") !== lost.has(ship))
      .toSorted((a, b) => Number(tons.get(b)) - Number(tons.get(a)));
    const total = found.map((ship) => Number(tons.get(ship))).reduce((a, b) => a + b, 0);
    return [String(found.length), String(total), found[0] ?? ""];
  });
});

test("office-at-date: every person moves from day to day", () => {
  interface Given {
    people: string[];
    events: { kind: string; day: number; office: number; other: number }[];
    corrections: { event: number; day: number; other: number }[];
    questions: { office: number; day: number }[];
  }
  expectAgreement(officeAtDate, ({ people, events, corrections, questions }: Given) => {
    const seat = new Map<number, number>();
    const answers: string[] = questions.map(() => "");
    for (let day = 0; day <= 720; day++) {
      for (const [place, event] of events.entries()) {
        const mended = { ...event, ...corrections.find((one) => one.event === place) };
        if (mended.day !== day) continue;
        for (const [person, office] of Array.from(seat)) {
          if (event.kind === "exchange" && office === event.office) seat.set(person, event.other);
          else if (event.kind === "exchange" && office === event.other) seat.set(person, event.office);
          else if (event.kind !== "exchange" && office === event.office) seat.delete(person);
        }
        if (event.kind === "appoint") seat.set(mended.other, event.office);
      }
      for (const [place, question] of questions.entries()) {
        const [holder] = [...seat].find(([, office]) => office === question.office) ?? [];
        if (question.day === day) answers[place] = holder === undefined ? "vacant" : (people[holder] ?? "");
      }
    }
    return answers;
  });
});

test("shifting-names-chase: spans of time in which a firm has a name follow each other", () => {
  interface Given {
    events: { kind: string; year: number; from: string; to: string; partner: string }[];
    questions: { name: string; year: number; until: number }[];
  }
  interface Span {
    name: string;
    from: number;
    until: number;
    next: string;
  }
  expectAgreement(shiftingNamesChase, ({ events, questions }: Given) => {
    const spans = events.flatMap(({ to, year }): Span[] => {
      if (to === "") return [];
      const end = events.find((later) => later.year > year && (later.from === to || later.partner === to));
      return [{ name: to, from: year, until: end?.year ?? Number.POSITIVE_INFINITY, next: end?.to ?? "" }];
    });
    const spanOf = (name: string, year: number) =>
      spans.find((span) => span.name === name && span.from <= year && year < span.until);
    return questions.map(({ name, year, until }) => {
      let span = spanOf(name, year);
      while (span !== undefined && span.until <= until) span = spanOf(span.next, span.until);
      return span?.name ?? "closed";
    });
  });
});

test("rule-inferred-relation: each person is asked for from the goal downwards", () => {
  interface Given {
    standings: string[];
    base: number;
    people: string[];
    masters: (number | null)[];
    facts: number[][];
    rules: { standing: number; needs: number[]; master: number | null; unless: number | null }[];
  }
  expectAgreement(ruleInferredRelation, ({ standings, base, people, masters, facts, rules }: Given) => {
    const holds = (person: number, standing: number): boolean => {
      if (standing < base) return facts[person]?.includes(standing) === true;
      return rules.some((rule) => {
        if (rule.standing !== standing || (rule.unless !== null && holds(person, rule.unless))) return false;
        const master = masters[person] ?? null;
        if (rule.master !== null && (master === null || !holds(master, rule.master))) return false;
        return rule.needs.every((need) => holds(person, need));
      });
    };
    return [people.filter((_, person) => holds(person, standings.length - 1)).join(", ")];
  });
});

test("retracted-support-trace: a paper stands when an argument without a circle proves it", () => {
  interface Given {
    supports: number[][][];
    withdrawn: number[];
  }
  expectAgreement(
    retractedSupportTrace,
    ({ supports, withdrawn }: Given) => {
      const stands = (paper: number, above: readonly number[]): boolean =>
        !withdrawn.includes(paper) &&
        !above.includes(paper) &&
        (supports[paper] ?? []).some((way) => way.every((other) => stands(other, [...above, paper])));
      const lost = supports.flatMap((_, paper) =>
        stands(paper, []) || withdrawn.includes(paper) ? [] : [`P${paper + 1}`],
      );
      return [lost.join(", ")];
    },
    [1, 2],
  );
});

test("unit-mixed-synthesis: a year's values of all units come first, over one common denominator", () => {
  interface Scale {
    factor: number;
    year: number;
    later: number;
  }
  interface Given {
    measures: Scale[];
    coins: Scale[];
    deliveries: {
      year: number;
      port: number;
      amount: number;
      measure: number;
      price: number;
      per: number;
      coin: number;
    }[];
    query: { port: number; from: number; to: number };
  }
  expectAgreement(unitMixedSynthesis, ({ measures, coins, deliveries, query }: Given) => {
    const common = measures.reduce((product, { factor, later }) => product * BigInt(factor * later), 1n);
    let sum = 0n;
    for (let year = query.from; year <= query.to; year++) {
      const sizes = (scales: readonly Scale[]): bigint[] => {
        const found = [1n];
        for (const { factor, later, year: change } of scales)
          found.push((found.at(-1) ?? 1n) * BigInt(year < change ? factor : later));
        return found;
      };
      const [size, value] = [sizes(measures), sizes(coins)];
      for (const { amount, measure, price, per, coin } of deliveries.filter(
        (one) => one.year === year && one.port === query.port,
      ))
        sum += BigInt(amount * price) * (size[measure] ?? 0n) * (value[coin] ?? 0n) * (common / (size[per] ?? 1n));
    }
    let [a, b] = [sum, common];
    while (b > 0n) [a, b] = [b, a % b];
    return [a === common ? String(sum / a) : `${sum / a}/${common / a}`];
  });
});

test("relation-chain-question: a prompt in which every right line earns a part keeps that promise", () => {
  const rng = createRng(2);
  for (let count = 0; count < 8; count++) {
    const { instance, prompt } = drawInstance(relationChainQuestion, 1, rng);
    const { solution } = instance as FieldInstance<object>;
    const [answer] = solution.fields;
    const earned = relationChainQuestion.score(instance, `answer: ${answer?.value}`);
    expect(prompt.includes("Every right line earns a part") && earned === 0).toBe(false);
  }
});
