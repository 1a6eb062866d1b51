/** Names the faults of the arguments of an environment, in words. */
import { z } from "zod";

import { nearest } from "../../config/index.ts";

/** Zod's words, and for each unknown argument the one that may be meant. */
export function argumentProblems(config: z.ZodType, error: z.ZodError): string {
  const known = config instanceof z.ZodObject ? Object.keys(config.shape) : [];
  const unknown = error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" && issue.path.length === 0 ? issue.keys : [],
  );
  const advice = unknown.flatMap((key) => {
    const near = nearest(key, known);
    if (near === null) return known.length === 0 ? [] : [`${key}: there are ${known.join(", ")}`];
    // The variables of other keys have capitals only.
    const inVariables = /[A-Z]/u.test(near)
      ? ` In an environment variable it is written so too: ...__ARGS__${near}`
      : "";
    return [`${key}: did you mean ${near}?${inVariables}`];
  });
  return [z.prettifyError(error), ...advice].join("\n");
}
