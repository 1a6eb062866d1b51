/** The context of a benchmark's scorer without sandboxes and judge, for scorers that need neither, or with what a test gives. */
import type { ScoringContext } from "../../ts/environments/benchmarks/benchmark.ts";

const none = (): Promise<never> => Promise.reject(new Error("the test gives none"));

export function scoringContext(given: Partial<ScoringContext> = {}): ScoringContext {
  return {
    sandboxes: none,
    judge: { choose: none, read: none, reference: none, rubric: none },
    judgePrompt: null,
    once: (_, make) => make(),
    signal: new AbortController().signal,
    source: { data: null, revision: null },
    ...given,
  };
}
