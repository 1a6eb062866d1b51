/**
 * The order of the test files. Vitest starts the largest file first, and a clean clone has no durations of an earlier run; but the files that take longest
 * are small, so one of them would run for minutes at the end, on one core.
 */
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Paths of what takes longest, the longest first: minutes each, then whole runs of prl, then the rest. */
const LONG = [
  /^tests\/unit\/environments\/catalogue\/code\.test\.ts$/u,
  /^tests\/e2e\/resume\//u,
  /^tests\/e2e\//u,
  /^tests\/simulation\//u,
  /^tests\/unit\/environments\/catalogue\//u,
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const path = relative(this.ctx.config.root, moduleId);
      const rank = LONG.findIndex((pattern) => pattern.test(path));
      return rank === -1 ? LONG.length : rank;
    };
    const bySize = await super.sort(files);
    return bySize.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}
