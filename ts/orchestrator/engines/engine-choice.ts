/**
 * Chooses the engine of a rollout: the same one for the same task while it has room, so that prefixes are found in its cache.
 *
 * Rendezvous hashing (Thaler and Ravishankar, 1998): every engine has a score for every key, the highest wins; when an engine comes or goes
 * only its own keys move. With bounded loads (Mirrokni, Thorup and Zadimoghaddam, 2018): an engine that has more than its share is passed
 * over for the next one.
 */
import { createHash } from "node:crypto";

export interface Candidate {
  readonly name: string;
  /** Rollouts under way. */
  readonly inFlight: number;
}

/** An engine may have up to this many times the mean load. */
const OVERLOAD = 1.25;
/** Below this load an engine is never full, so that a group stays together. */
const LEAST_LOAD = 16;

/** Undefined when there is no candidate. */
export function chooseEngine<Of extends Candidate>(key: string, candidates: readonly Of[]): Of | undefined {
  if (candidates.length < 2) return candidates[0];
  const total = candidates.reduce((sum, { inFlight }) => sum + inFlight, 1);
  const most = Math.max(LEAST_LOAD, Math.ceil((OVERLOAD * total) / candidates.length));
  let best: Of | undefined;
  let highest = -1;
  for (const candidate of candidates) {
    if (candidate.inFlight >= most) continue;
    const score = scoreOf(key, candidate.name);
    if (score <= highest) continue;
    best = candidate;
    highest = score;
  }
  return best;
}

/** Uniform in [0, 2^48), equal in every process. */
function scoreOf(key: string, name: string): number {
  return createHash("md5").update(name).update("\0").update(key).digest().readUIntBE(0, 6);
}
