/** What the generators of terminal work promise, without a sandbox. */
import { expect, test } from "vitest";

import { type Day, drawDay } from "../../../../../ts/environments/catalogue/agentic/terminal-work/log-forensics/day.ts";
import { logFiles } from "../../../../../ts/environments/catalogue/agentic/terminal-work/log-forensics/logs.ts";
import { createRng } from "../../../../../ts/random/rng.ts";

test("log-forensics: the time at which new files begin does not tell the first failure", () => {
  const rng = createRng(6);
  const gaps: number[] = [];
  for (let draw = 0; draw < 400 && gaps.length < 8; draw++) {
    const day: Day | null = drawDay(rng, 4);
    if (day === null) continue;
    const older = logFiles(day)[`${day.services[0]?.name}.log.1`] ?? "";
    const last = day.requests.findLast(({ id }) => older.includes(id))?.at ?? 0;
    const first = day.requests.find(({ id }) => id === day.cause.request)?.at ?? 0;
    expect(last).toBeGreaterThanOrEqual(first);
    gaps.push(last - first);
  }
  expect(gaps).toHaveLength(8);
  expect(Math.max(...gaps) - Math.min(...gaps)).toBeGreaterThan(3_600);
});
