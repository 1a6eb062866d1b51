/** The kinds of subjects. A subject names its kind, so that it can travel as JSON. */
import { PrlError } from "../../../../errors.ts";
import { type Charge, charge } from "./charge.ts";
import { type Depot, depot } from "./depot.ts";
import { type ListScore, listScore } from "./list-score.ts";
import type { SubjectKind } from "./subject.ts";

export type Subject = Charge | ListScore | Depot;

export const KINDS = [charge, listScore, depot] as unknown as readonly SubjectKind<Subject>[];

export function kindOf({ is }: Subject): SubjectKind<Subject> {
  const kind = KINDS.find(({ id }) => id === is);
  if (kind === undefined) throw new PrlError("PRL_ENVIRONMENT_FAILED", `there is no kind of subject "${is}"`);
  return kind;
}
