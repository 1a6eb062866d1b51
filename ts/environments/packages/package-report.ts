/**
 * The findings of `prl env push` when it checked an environment, and sample rollouts: `"prl": { "report": ... }` in the published package.json, so
 * that every npm registry keeps it and the page of a hub can show it.
 *
 * The report is what the author of the package says. A hub runs no code of packages, so it repeats none of the checks.
 */
import { z } from "zod";

import { isRecord, type Manifest } from "./environment-package.ts";

/** Characters of one text; longer ones are cut. */
export const LONGEST_REPORT_TEXT = 2_000;
/** Messages of one conversation, conversations of a rollout, rollouts of a report. */
export const MOST_REPORTED = { messages: 20, conversations: 4, samples: 3 } as const;
const MOST_ROWS = 100;

const text = z.string().max(LONGEST_REPORT_TEXT + 100);
const sampleSchema = z.object({
  task: text,
  by: z.enum(["model", "gold", "nothing"]),
  conversations: z
    .array(
      z.object({
        agent: text,
        messages: z
          .array(z.object({ role: text, content: text, calls: z.array(text).max(MOST_REPORTED.messages) }))
          .max(MOST_REPORTED.messages),
      }),
    )
    .max(MOST_REPORTED.conversations),
  reward: z.number().nullable(),
  scores: z.record(z.string(), z.number()),
});
const schema = z.object({
  /** Version of prl that made the checks. */
  prl: text,
  rows: z
    .array(
      z.object({
        part: z.enum(["package", "environment", "gate"]),
        check: text,
        status: z.enum(["passed", "failed", "stated", "not checked"]),
        what: text,
      }),
    )
    .max(MOST_ROWS),
  samples: z.array(sampleSchema).max(MOST_REPORTED.samples),
});

export type PackageReport = z.infer<typeof schema>;

/** The report in a package.json; null where there is none, or one of another form, which other versions of prl may have written. */
export function packageReport({ prl }: Manifest): PackageReport | null {
  const parsed = schema.safeParse(isRecord(prl) ? prl["report"] : undefined);
  return parsed.success ? parsed.data : null;
}

/** How many checks of a report ended how. */
export function reportCounts({ rows }: PackageReport): { passed: number; failed: number; unchecked: number } {
  const count = (status: string): number => rows.filter((row) => row.status === status).length;
  return { passed: count("passed"), failed: count("failed"), unchecked: count("not checked") };
}
