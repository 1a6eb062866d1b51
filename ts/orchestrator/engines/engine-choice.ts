/**
 * Chooses the engine of a rollout: the same one for the same task while it has room, so that prefixes are found in its cache.
 *
 * Rendezvous hashing (Thaler and Ravishankar, 1998): every engine has a score for every key, the highest wins; when an engine comes or goes
 * only its own keys move. With bounded loads (Mirrokni, Thorup and Zadimoghaddam, 2018): an engine that has more than its share is passed
 * over for the next one.
 */
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
  const hashed = hashOf(key);
  let best: Of | undefined;
  let highest = -1;
  for (const candidate of candidates) {
    if (candidate.inFlight >= most) continue;
    const score = scoreOf(hashed, nameHash(candidate.name));
    if (score <= highest) continue;
    best = candidate;
    highest = score;
  }
  return best;
}

/** Hashes of engines' names: a run has few names, and each is scored for every rollout. */
const names = new Map<string, number>();
const MOST_NAMES = 4096;

function nameHash(name: string): number {
  const known = names.get(name);
  if (known !== undefined) return known;
  if (names.size === MOST_NAMES) names.clear();
  const hash = hashOf(name);
  names.set(name, hash);
  return hash;
}

/** FNV-1a over UTF-16 units, 32 bits; equal in every process. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mixed(hash);
}

/** Uniform in [0, 2^32), equal in every process. */
function scoreOf(key: number, name: number): number {
  return mixed(mixed(key ^ name) + Math.imul(name, 0x9e3779b9)) >>> 0;
}

/** The last steps of MurmurHash3 (Appleby, public domain): each bit of the result depends on all bits. */
function mixed(bits: number): number {
  let hash = bits ^ (bits >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
