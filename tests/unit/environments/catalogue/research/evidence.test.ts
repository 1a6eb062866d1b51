/** Evidence against enumeration of worlds, moral graphs, and texts that are taken apart. */
import { expect, test } from "vitest";

import { adjustmentAudit } from "../../../../../ts/environments/catalogue/research/evidence/adjustment-audit.ts";
import { argumentAcceptance } from "../../../../../ts/environments/catalogue/research/evidence/argument-acceptance.ts";
import { claimGrading } from "../../../../../ts/environments/catalogue/research/evidence/claim-grading.ts";
import { contradictionPairs } from "../../../../../ts/environments/catalogue/research/evidence/contradiction-pairs.ts";
import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { licensedConclusions } from "../../../../../ts/environments/catalogue/research/evidence/licensed-conclusions.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { hypothesisElimination } from "../../../../../ts/environments/catalogue/research/evidence/hypothesis-elimination.ts";
import { messageMutationTree } from "../../../../../ts/environments/catalogue/research/evidence/message-mutation-tree.ts";
import { protocolScreening } from "../../../../../ts/environments/catalogue/research/evidence/protocol-screening.ts";
import { quotationAudit } from "../../../../../ts/environments/catalogue/research/evidence/quotation-audit.ts";
import { sourceWeighing } from "../../../../../ts/environments/catalogue/research/evidence/source-weighing.ts";
import { expectAgreement } from "./solved-instances.ts";

test("contradiction-pairs: sentences of the prompt, in every history of a bridge", () => {
  expectAgreement(
    contradictionPairs,
    (_: object, prompt) => {
      const eras = new Map(
        [...prompt.matchAll(/era of (\w+) is the common year (\d+)/gu)].map(([, era = "", year]) => [
          era,
          Number(year),
        ]),
      );
      const sentences = [...prompt.matchAll(/^(S\d+)\. (.*)$/gmu)].map(([, mark = "", text = ""]) => {
        const bridge = /bridge of (\w+)/iu.exec(text)?.[1] ?? "";
        const era = /in year (\d+) (?:of the era|after the count) of (\w+)/iu.exec(text);
        const number = Number(/(\d+)/u.exec(text.replace(era?.[0] ?? "", ""))?.[1] ?? 0);
        const year = era === null ? number : (eras.get(era[2] ?? "") ?? 0) + Number(era[1]) - 1;
        const isWithin = (value: number): boolean => {
          if (/or earlier|not more than/u.test(text)) return value <= year;
          if (/not before|at least/iu.test(text)) return value >= year;
          return value === year;
        };
        const thing = /begun|started/u.test(text) ? "begun" : /finished|completed/u.test(text) ? "finished" : "arches";
        return { mark, bridge, thing, isWithin };
      });
      const years = Array.from({ length: 200 }, (__, index) => 1600 + index);
      const small = Array.from({ length: 60 }, (__, index) => index);
      const isPossible = (a: (typeof sentences)[number], b: (typeof sentences)[number]): boolean => {
        if (a.thing === b.thing)
          return (a.thing === "arches" ? small : years).some((value) => a.isWithin(value) && b.isWithin(value));
        const [first, last] = a.thing === "begun" ? [a, b] : [b, a];
        if (first.thing !== "begun" || last.thing !== "finished") return true;
        return years.some(
          (begun) => first.isWithin(begun) && years.some((finished) => finished >= begun && last.isWithin(finished)),
        );
      };
      const pairs = sentences.flatMap((a, place) =>
        sentences
          .slice(place + 1)
          .filter((b) => a.bridge === b.bridge && !isPossible(a, b))
          .map((b) => `${a.mark}-${b.mark}`),
      );
      return [pairs.join(", ")];
    },
    [1, 2, 3],
  );
});

test("claim-grading: a part follows when it holds however the gaps are filled", () => {
  interface Part {
    kind: string;
    a: number;
    b?: number;
    value?: number;
  }
  interface Given {
    villages: { people: number | null; height: number | null; district: number | null }[];
    regionOf: number[];
    claims: [Part, Part][];
  }
  expectAgreement(claimGrading, ({ villages, regionOf, claims }: Given) => {
    const fillings = (village: number) => {
      const { people, height, district } = villages[village] ?? { people: 0, height: 0, district: 0 };
      return (people === null ? [0, 1e6] : [people]).flatMap((p) =>
        (height === null ? [-1e5, 1e5] : [height]).flatMap((h) =>
          (district === null ? regionOf : [regionOf[district] ?? 0]).map((region) => ({ p, h, region })),
        ),
      );
    };
    const truth = ({ kind, a, b = a, value = 0 }: Part): Set<boolean> => {
      const found = new Set<boolean>();
      for (const one of fillings(a))
        for (const other of fillings(b)) {
          if (kind === "more") found.add(one.p > other.p);
          else if (kind === "higher") found.add(one.h > other.h);
          else if (kind === "people") found.add(one.p > value);
          else if (kind === "above") found.add(one.h > value);
          else if (kind === "region") found.add(one.region === value);
          else found.add(one.p + other.p > value);
        }
      return found;
    };
    return claims.map((parts) => {
      const truths = parts.map(truth);
      if (truths.some((one) => one.size > 1)) return "undecided";
      const right = truths.filter((one) => one.has(true)).length;
      return ["refuted", "partly", "supported"][right] ?? "";
    });
  });
});

test("source-weighing: all ways in which the reports can arise are added up", () => {
  interface Given {
    prior: number;
    sources: { hit: number; alarm: number; saysYes: boolean; from: number | null; copies: number }[];
  }
  expectAgreement(sourceWeighing, ({ prior, sources }: Given) => {
    const mass = (isTrue: boolean): bigint => {
      // Tenths multiply to integers: a factor for the copy and one for the judgement of each source.
      const ways = (place: number, said: readonly boolean[], weight: bigint): bigint => {
        const source = sources[place];
        if (source === undefined) return weight;
        const yes = isTrue ? source.hit : source.alarm;
        let sum = 0n;
        for (const isCopy of [true, false])
          for (const own of [true, false]) {
            const copied = source.from === null ? false : (said[source.from] ?? false);
            const report = isCopy && source.from !== null ? copied : own;
            if (report !== source.saysYes) continue;
            const factor = (isCopy ? source.copies : 10 - source.copies) * (own ? yes : 10 - yes);
            if (factor > 0) sum += ways(place + 1, [...said, report], weight * BigInt(factor));
          }
        return sum;
      };
      return ways(0, [], BigInt(isTrue ? prior : 10 - prior));
    };
    const [yes, all] = [mass(true), mass(true) + mass(false)];
    let [a, b] = [yes, all];
    while (b > 0n) [a, b] = [b, a % b];
    return [`${yes / a}/${all / a}`];
  });
});

test("quotation-audit: places of sentences in the record of the prompt", () => {
  expectAgreement(quotationAudit, (_: object, prompt) => {
    const split = (text: string): string[] =>
      text
        .split(".")
        .map((one) => one.trim())
        .filter((one) => one !== "");
    const record = [...prompt.matchAll(/^(\w+): (.*)$/gmu)].map(([, speaker = "", text = ""]) => ({
      speaker,
      said: split(text),
    }));
    return [...prompt.matchAll(/^Q\d+ \((\w+)\) "(.*)"$/gmu)].map(([, speaker = "", text = ""]) => {
      const [first = "", second = ""] = split(text);
      const places = record.flatMap(({ speaker: who, said }) => {
        const [a, b] = [said.indexOf(first), said.indexOf(second)];
        return a >= 0 && b >= 0 ? [{ isOwn: who === speaker, step: b - a }] : [];
      });
      const [place] = places;
      if (place === undefined) return "altered";
      if (place.step === 1) return place.isOwn ? "faithful" : "misattributed";
      return place.isOwn && place.step > 1 ? "joined" : "altered";
    });
  });
});

test("message-mutation-tree: the nearest version on a shortest way from the first one", () => {
  interface Given {
    versions: string[][];
    original: number;
  }
  expectAgreement(messageMutationTree, ({ versions, original }: Given) => {
    const distance = (a: number, b: number): number =>
      (versions[a] ?? []).filter((detail, slot) => versions[b]?.[slot] !== detail).length;
    return versions.flatMap((_, copy) => {
      if (copy === original) return [];
      const between = versions
        .map((__, other) => other)
        .filter(
          (other) => other !== copy && distance(original, other) + distance(other, copy) === distance(original, copy),
        )
        .toSorted((a, b) => distance(a, copy) - distance(b, copy));
      return [`V${(between[0] ?? 0) + 1}`];
    });
  });
});

test("adjustment-audit: separation in the moral graph of the ancestors", () => {
  interface Given {
    arrows: [number, number][];
    analyses: { cause: number; effect: number; adjusted: number[] }[];
  }
  expectAgreement(adjustmentAudit, ({ arrows, analyses }: Given) => {
    const ancestors = (of: readonly number[], all: readonly [number, number][]): Set<number> => {
      const found = new Set(of);
      for (let round = 0; round < 20; round++) for (const [from, to] of all) if (found.has(to)) found.add(from);
      return found;
    };
    return analyses.map(({ cause, effect, adjusted }) => {
      if (adjusted.some((one) => ancestors([one], arrows).has(cause))) return "overadjusted";
      const cut = arrows.filter(([from]) => from !== cause);
      const kept = ancestors([cause, effect, ...adjusted], cut);
      const inside = cut.filter(([from, to]) => kept.has(from) && kept.has(to));
      const married = inside.flatMap(([a, child]) =>
        inside.filter(([b, other]) => other === child && a !== b).map(([b]): [number, number] => [a, b]),
      );
      const edges = [...inside, ...married];
      const reached = new Set([cause]);
      for (let round = 0; round < 20; round++)
        for (const [a, b] of edges)
          for (const [from, to] of [
            [a, b],
            [b, a],
          ] as const)
            if (reached.has(from) && !adjusted.includes(to)) reached.add(to);
      return reached.has(effect) ? "confounded" : "valid";
    });
  });
});

test("protocol-screening: abstracts and criteria are read out of the prompt", () => {
  expectAgreement(protocolScreening, (_: object, prompt) => {
    const number = (text: string, pattern: RegExp): number =>
      Number(
        pattern
          .exec(text)
          ?.slice(1)
          .find((part) => part !== undefined) ?? Number.NaN,
      );
    const studies = [...prompt.matchAll(/^\[D\d+\] (.*)$/gmu)].map(([, text = ""]) => ({
      year: number(text, /\((\d{4})\)/u),
      started: number(text, /(\d+) persons were enrolled|of (\d+) participants/iu),
      lost: number(text, /and (\d+) of them|participants, (\d+) did/iu),
      days: number(text, /for (\d+) days|, (\d+) days/iu),
      random: Number(/lottery|random numbers/iu.test(text)),
      youngest: number(text, /from (\d+) to|youngest was (\d+)/iu),
      dose: number(text, /(\d+) mg/u) * (text.includes("twice a day") ? 2 : 1),
      control: Number(/no drug|placebo/u.test(text)),
      place: /took place in (\w+)/u.exec(text)?.[1] ?? "",
    }));
    const criteria = [...prompt.matchAll(/^\d+\. (.*)\.$/gmu)].map(([, text = ""]) => text);
    return studies.map(({ year, started, lost, days, random, youngest, dose, control, place }) => {
      const isMet = (text: string): boolean => {
        const value = number(text, /(\d+(?:\.\d+)?)/u);
        if (text.includes("published")) return year >= value;
        if (text.includes("completed")) return started - lost >= value;
        if (text.includes("weeks")) return days >= 7 * value;
        if (text.includes("random")) return random === 1;
        if (text.includes("years old")) return youngest >= value;
        if (text.includes("dose")) return dose <= Math.round(1000 * value);
        if (text.includes("without the treatment")) return control === 1;
        if (text.includes("%")) return lost / started <= value / 100 + 1e-12;
        if (text.includes("dropped out")) return lost <= value;
        return !text.endsWith(` ${place}`);
      };
      const failed = criteria.findIndex((text) => !isMet(text));
      return failed < 0 ? "include" : String(failed + 1);
    });
  });
});

test("argument-acceptance: the least fixed point of defence", () => {
  interface Given {
    count: number;
    attacks: [number, number][];
  }
  expectAgreement(argumentAcceptance, ({ count, attacks }: Given) => {
    let accepted: number[] = [];
    for (;;) {
      const attacked = new Set(attacks.filter(([from]) => accepted.includes(from)).map(([, to]) => to));
      const next = Array.from({ length: count }, (_, one) => one).filter((one) =>
        attacks.every(([from, to]) => to !== one || attacked.has(from)),
      );
      if (next.length === accepted.length) return [next.map((one) => `A${one + 1}`).join(", ")];
      accepted = next;
    }
  });
});

test("hypothesis-elimination: the prompt's laws in a truth table", () => {
  const letters = (text: string): string[] => [...text.matchAll(/\b[a-h]\b/gu)].map(([one]) => one);
  expectAgreement(hypothesisElimination, (_: object, prompt) => {
    const text = prompt.replaceAll("a lamp", "lamp");
    const laws = [...text.matchAll(/^(H\d+)\. The lamp is lit exactly when (.*)\.$/gmu)].map(
      ([, mark = "", law = ""]) => {
        const [, core = "", off = ""] = /^(.*?)(?: and ([a-h]) is off|, but not when ([a-h]) is on)?$/u.exec(law) ?? [];
        const veto = off || (/not when ([a-h])/u.exec(law)?.[1] ?? "");
        const of = letters(core.replace(/, but.*$/u, ""));
        const least = Number(/at least (\d)/u.exec(core)?.[1] ?? of.length);
        return {
          mark,
          isLit: (on: readonly string[]) => of.filter((one) => on.includes(one)).length >= least && !on.includes(veto),
        };
      },
    );
    const done = [...text.matchAll(/^- (.*) on, the rest off: (\w+)\.$/gmu)].map(([, on = "", seen]) => ({
      on: letters(on),
      isLit: seen === "lit",
    }));
    const left = laws.filter((law) => done.every(({ on, isLit }) => law.isLit(on) === isLit));
    const proposals = [...text.matchAll(/^(E\d+)\. (.*) on, the rest off$/gmu)].map(([, mark = "", on = ""]) => {
      const lit = left.filter((law) => law.isLit(letters(on))).length;
      return { mark, worst: Math.max(lit, left.length - lit) };
    });
    const [best] = proposals.toSorted((a, b) => a.worst - b.worst);
    return [left.map(({ mark }) => mark).join(", "), best?.mark ?? "", String(best?.worst)];
  });
});

test("licensed-conclusions: no claim can be read as an intervention", () => {
  const rng = createRng(8);
  const prompts = Array.from({ length: 8 }, () => drawInstance(licensedConclusions, 3, rng).prompt);
  for (const prompt of prompts) expect(prompt).not.toMatch(/held fixed/u);
  expect(prompts.join("\n")).toMatch(/independent given the observed values? of/u);
});
