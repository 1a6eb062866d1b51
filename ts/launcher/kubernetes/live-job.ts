/** Whether the Job of a run is at work: it has not ended, and is not being deleted. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { type ClusterEnvironment, objectsOf, type Place } from "./kubectl.ts";
import { selectorOf } from "./names.ts";

const jobsSchema = z.array(
  z.looseObject({
    metadata: z.looseObject({ deletionTimestamp: z.string().optional() }).default({}),
    status: z
      .looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) })
      .prefault({}),
  }),
);
/** Conditions of a Job that has ended. */
const ENDS: ReadonlySet<string> = new Set(["Complete", "Failed"]);

/**
 * A Job that is replaced while it works would lose what the run has done since its newest checkpoint.
 *
 * @param name of the run's objects
 * @throws PrlError `PRL_RUN_LOCKED`, `PRL_KUBERNETES`
 */
export async function refuseLive(name: string, place: Place, env: ClusterEnvironment): Promise<void> {
  const { data, error } = jobsSchema.safeParse(await objectsOf("job", selectorOf(name), place, env));
  if (data === undefined) {
    const message = `kubectl get answered Jobs of another form: ${z.prettifyError(error)}`;
    throw new PrlError("PRL_KUBERNETES", message, { cause: error });
  }
  const isLive = data.some(({ metadata, status: { conditions } }) => {
    const hasEnded = conditions.some(({ type, status }) => ENDS.has(type) && status === "True");
    return !hasEnded && metadata.deletionTimestamp === undefined;
  });
  if (!isLive) return;
  const advice = "prl kubernetes status shows it; prl kubernetes delete ends it";
  throw new PrlError("PRL_RUN_LOCKED", `the Job ${name} waits or works: ${advice}`);
}
