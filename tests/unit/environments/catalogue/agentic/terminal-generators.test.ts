/** What the generators of terminal work promise, without a sandbox. */
import { expect, test } from "vitest";

import { diskPolicyCleanup } from "../../../../../ts/environments/catalogue/agentic/terminal-work/disk-policy-cleanup/index.ts";
import { drawFeed } from "../../../../../ts/environments/catalogue/agentic/terminal-work/incremental-load/drops.ts";
import { specText } from "../../../../../ts/environments/catalogue/agentic/terminal-work/incremental-load/scripts.ts";
import { type Day, drawDay } from "../../../../../ts/environments/catalogue/agentic/terminal-work/log-forensics/day.ts";
import { logFiles } from "../../../../../ts/environments/catalogue/agentic/terminal-work/log-forensics/logs.ts";
import { LEVELS } from "../../../../../ts/environments/catalogue/row.ts";
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

test("incremental-load: ties are decided at every level, and every header can be known", () => {
  for (const level of LEVELS) {
    const feed = drawFeed(createRng(level), level);
    const text = specText(feed);
    expect(text).toContain(`have the same ${feed.names.changed}, the one with the greater ${feed.names.seq}`);
    const headers = feed.days.flatMap(({ files }) => files.map((file) => [file.headers.price, file.isCents] as const));
    for (const [header, isCents] of headers)
      if (isCents && header !== "price") expect(text).toMatch(new RegExp(`${header}.*_cents`, "u"));
  }
});

test.each(LEVELS)("disk-policy-cleanup: most draws of level %i have all traps that they should have", (level) => {
  const rng = createRng(9);
  const kept = Array.from({ length: 20 }, () => diskPolicyCleanup.make(rng, level)).filter((one) => one !== null);
  expect(kept.length).toBeGreaterThan(10);
});
