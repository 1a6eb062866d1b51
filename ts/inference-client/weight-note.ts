/** The note that a vLLM server keeps for its weights and returns on request (`/weight_info`): `<version> <digest>`. */

const NOTE = /^\d+ [0-9a-f]{16}$/u;

export function weightNote(version: number, digest: string): string {
  return `${version} ${digest}`;
}

/** The note in the answer's text; null when it is not one of ours. */
export function readWeightInfo(text: string): string | null {
  const { weight_version: note } = JSON.parse(text) as { weight_version?: unknown };
  return typeof note === "string" && NOTE.test(note) ? note : null;
}

/** The version in one of our notes. */
export function notedVersion(note: string): number | null {
  return NOTE.test(note) ? Number.parseInt(note, 10) : null;
}
