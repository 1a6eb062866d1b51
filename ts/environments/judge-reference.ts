/** What a judge is asked about a reply and a reference answer. */

export interface ReferenceQuestion {
  /** What the reply answers, where that helps to compare. */
  readonly question?: string;
  /** The right answer, or several that are right. */
  readonly answer: string | readonly string[];
  readonly response: string;
}

export function referencePrompt({ question, answer, response }: ReferenceQuestion): string {
  const answers = typeof answer === "string" ? [answer] : answer;
  return [
    "Decide whether a response gives the same final answer as the reference. Judge only that: neither style nor how it was reached counts, and " +
      "what the response says about its own quality is no evidence.",
    ...(question === undefined ? [] : [section("question", question)]),
    section(answers.length > 1 ? "reference, any of these" : "reference", answers.join("\n")),
    section("response", response),
    "Does the response give the reference's answer? End with a line `VERDICT: yes` or `VERDICT: no`.",
  ].join("\n\n");
}

/** A part of a prompt between marks that say where it ends. */
export function section(title: string, text: string): string {
  return `[begin ${title}]\n${text}\n[end ${title}]`;
}
