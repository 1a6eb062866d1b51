/** The note that a vLLM server keeps for its weights and returns on request (`/weight_info`): `<version> <digest>`. */

import { z } from "zod";

const NOTE = /^\d+ [0-9a-f]{16}$/u;

export function weightNote(version: number, digest: string): string {
  return `${version} ${digest}`;
}

export const weightInfoSchema = z.object({ weight_version: z.unknown().optional() });

/** The note in the answer; null when it is not one of ours. */
export function notedIn({ weight_version: note }: z.output<typeof weightInfoSchema>): string | null {
  return typeof note === "string" && NOTE.test(note) ? note : null;
}

/** The same of the answer's text. Throws what JSON and zod throw. */
export function readWeightInfo(text: string): string | null {
  return notedIn(weightInfoSchema.parse(JSON.parse(text)));
}

/** The version in one of our notes. */
export function notedVersion(note: string): number | null {
  return NOTE.test(note) ? Number.parseInt(note, 10) : null;
}
