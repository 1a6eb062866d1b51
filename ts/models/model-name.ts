/** Names of models on the hub: `org/name`, or `org/name@revision`. */
import { type HubRepository, isRepositoryName } from "../hub/index.ts";

export interface ModelReference {
  /** `org/name`. */
  readonly name: string;
  /** Branch, tag or commit. */
  readonly revision: string;
}

export const DEFAULT_REVISION = "main";
const OWNER_AND_NAME = /^[\w.-]+\/[\w.-]+$/u;

/** The model that a text names; null when it is no name of the hub. A revision in the text wins over none, `revision` over `main`. */
export function parseModelName(text: string, revision: string = DEFAULT_REVISION): ModelReference | null {
  const at = text.indexOf("@");
  const name = at < 0 ? text : text.slice(0, at);
  const named = at < 0 ? revision : text.slice(at + 1);
  if (!OWNER_AND_NAME.test(name) || !isRepositoryName(name) || !isRevision(named)) return null;
  return { name, revision: named };
}

/** `org/name`, with the revision where it is not the usual one. */
export function modelText({ name, revision }: ModelReference): string {
  return revision === DEFAULT_REVISION ? name : `${name}@${revision}`;
}

export function modelRepository({ name }: ModelReference): HubRepository {
  return { kind: "model", name };
}

/** A revision becomes a path in the cache. */
export function isRevision(revision: string): boolean {
  return /^[\w./+-]+$/u.test(revision) && revision.split("/").every((part) => !["", ".", ".."].includes(part));
}
