/** Reads pytest's report, test by test. */

export type PytestOutcome = "passed" | "failed" | "error" | "skipped" | "xfailed" | "xpassed";

const OUTCOMES: Readonly<Record<string, PytestOutcome>> = {
  PASSED: "passed",
  FAILED: "failed",
  ERROR: "error",
  SKIPPED: "skipped",
  XFAIL: "xfailed",
  XPASS: "xpassed",
};
// oxlint-disable-next-line no-control-regex -- colours of terminals are control characters
const ANSI = /\u001b\[[0-9;]*[A-Za-z]/gu;

/** The outcome behind the id, in the lines of `-v`. */
const VERBOSE = /(?<=\s)(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?=\s|$)/u;

/**
 * Outcomes by node id, from the lines of `-rA` (`PASSED path::test`) and of `-v` (`path::test PASSED [ 50%]`). Reasons behind " - " are
 * dropped, also when the id has brackets that hold " - ". A test that is reported again keeps its worst outcome, so an error in teardown
 * outweighs a pass.
 */
export function pytestOutcomes(text: string): Record<string, PytestOutcome> {
  const outcomes: Record<string, PytestOutcome> = {};
  for (const line of text.replace(ANSI, "").split("\n")) {
    const [, word = "", rest = ""] = /^(PASSED|FAILED|ERROR|XFAIL|XPASS)\s+(\S.*)$/u.exec(line.trim()) ?? [];
    const verbose = /^\S+?::/u.test(line.trim()) ? VERBOSE.exec(line.trim()) : null;
    const outcome = OUTCOMES[word === "" ? (verbose?.[0] ?? "") : word];
    const id =
      word === ""
        ? line
            .trim()
            .slice(0, verbose?.index ?? 0)
            .trimEnd()
        : nodeId(rest);
    if (outcome === undefined || !id.includes("::")) continue;
    const before = outcomes[id];
    if (before === undefined || SEVERITY.indexOf(outcome) > SEVERITY.indexOf(before)) outcomes[id] = outcome;
  }
  return outcomes;
}

const SEVERITY: readonly PytestOutcome[] = ["skipped", "xfailed", "passed", "xpassed", "failed", "error"];

/** Up to the first " - " outside of brackets. */
function nodeId(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "[") depth++;
    else if (text[at] === "]") depth = Math.max(0, depth - 1);
    else if (depth === 0 && text.startsWith(" - ", at)) return text.slice(0, at).trim();
  }
  return text.trim();
}
