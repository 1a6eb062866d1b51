/** Responses of the three entries in one form. */
import { isList, type Json } from "../json.ts";

export interface Outcome {
  readonly error: string | null;
  readonly values: Readonly<Record<string, Json>>;
}

/** The three forms of responses as one. */
export function outcome(response: Json): Outcome {
  if (typeof response === "string") {
    if (response.startsWith("error")) return { error: response, values: {} };
    const pairs = response.split(" ").flatMap((word): [string, Json][] => {
      const [key = "", value] = word.split("=", 2);
      if (value === undefined) return [];
      return [[key, key.endsWith("s") ? value.split(",") : /^\d+$/u.test(value) ? Number(value) : value]];
    });
    return { error: null, values: Object.fromEntries(pairs) };
  }
  if (isList(response)) {
    if (response[0] === "failed") return { error: JSON.stringify(response[2]), values: {} };
    return { error: null, values: response[2] as Outcome["values"] };
  }
  const { status, body } = response as { status: number; body: Outcome["values"] };
  return status === 200 ? { error: null, values: body } : { error: JSON.stringify(body["error"]), values: {} };
}
