/** Keys that servers want of those who ask for samples: a config names an environment variable, so that no file holds the key. */
import { PrlError } from "../errors.ts";

/**
 * The key in `variable`; none for null.
 *
 * @param whose begins the message, `the teacher's key`
 * @throws PrlError `PRL_INFERENCE_AUTH` when the variable is not set
 */
export function apiKeyFrom(
  variable: string | null,
  whose: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): { apiKey?: string } {
  if (variable === null) return {};
  const apiKey = env[variable] ?? "";
  if (apiKey !== "") return { apiKey };
  throw new PrlError("PRL_INFERENCE_AUTH", `${whose} is to be in ${variable}, which is not set`);
}
