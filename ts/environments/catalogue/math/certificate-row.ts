/**
 * Rows whose answer is a certificate in an answer block: an object that is checked against the problem, and not compared with another one.
 *
 * A checker does exact arithmetic on what the prompt states. It never needs the certificate that the generator knows, so every right one
 * counts. What it cannot read, it refuses.
 */
import type { Rng } from "../../../random/rng.ts";
import { at } from "../lists.ts";
import { defineRow, type Level, type Row } from "../row.ts";

export interface Certified<Problem extends object> {
  /** As JSON: what the prompt states and the checker reads. */
  readonly problem: Problem;
  readonly certificate: string;
  /** Work of the method that a person would use. */
  readonly steps: number;
}

export interface CertificateRow<Problem extends object> {
  readonly id: string;
  readonly asks: string;
  /** Null for a degenerate draw. */
  readonly draw: (rng: Rng, level: Level) => Certified<Problem> | null;
  /** Whether the answer, untrusted text of bounded length, is a certificate. */
  readonly proves: (problem: Problem, answer: string) => boolean;
  readonly canonical?: (problem: Problem) => unknown;
  /** Each says how the certificate is written. */
  readonly prompts: readonly ((problem: Problem, rng: Rng) => string)[];
  /** What plausible mistakes give; certificates among them are left out. */
  readonly slips: (problem: Problem, certificate: string) => readonly string[];
  /** The certificate in other writings. */
  readonly variants?: (problem: Problem, certificate: string) => readonly string[];
}

/** Numbers of the certificate that near misses change. */
const CHANGED = 4;

export function certificateRow<Problem extends object>(row: CertificateRow<Problem>): Row {
  return defineRow<Certified<Problem>>({
    id: row.id,
    asks: row.asks,
    place: "answer",
    make: row.draw,
    effort: ({ steps }) => steps,
    canonical: ({ problem }) => row.canonical?.(problem) ?? problem,
    prompts: row.prompts.map(
      (wording) =>
        ({ problem }, rng) =>
          wording(problem, rng),
    ),
    gold: ({ certificate }) => certificate,
    nearMisses: ({ problem, certificate }, rng) => {
      const wrong = [...row.slips(problem, certificate), ...damaged(certificate, rng)];
      return [...new Set(wrong)].filter((text) => text.trim() !== "" && !row.proves(problem, text));
    },
    variants: ({ problem, certificate }) => row.variants?.(problem, certificate) ?? [],
    score: ({ problem }, answer) => (row.proves(problem, answer) ? 1 : 0),
  });
}

/** The certificate with one number changed, and without its last number. */
function damaged(certificate: string, rng: Rng): string[] {
  const numbers = [...certificate.matchAll(/\d+/gu)];
  if (numbers.length === 0) return [];
  const places = Array.from({ length: CHANGED }, () => rng.integer(numbers.length));
  const changed = places.map((place) => {
    const { 0: digits, index } = at(numbers, place);
    return `${certificate.slice(0, index)}${BigInt(digits) + 1n}${certificate.slice(index + digits.length)}`;
  });
  return [...changed, certificate.replace(/[^\n,]*\d+\D*$/u, "").replace(/[,\s]+$/u, "")];
}
