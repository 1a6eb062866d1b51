/** What a vLLM server is told to remember of its weights, and says when it is asked (`/weight_info`): `<version> <digest>`. */

const NOTE = /^\d+ [0-9a-f]{16}$/u;

export function weightNote(version: number, digest: string): string {
  return `${version} ${digest}`;
}

/** The note in the answer's text; null when there is none of ours. */
export function readWeightInfo(text: string): string | null {
  const { weight_version: note } = JSON.parse(text) as { weight_version?: unknown };
  return typeof note === "string" && NOTE.test(note) ? note : null;
}

/** Of weights with a note of ours. */
export function notedVersion(note: string): number | null {
  return NOTE.test(note) ? Number.parseInt(note, 10) : null;
}
