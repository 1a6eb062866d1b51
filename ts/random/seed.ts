/**
 * Every random choice of a run depends on its seed and on the purpose of the choice, never on arrival order, engine, worker
 * or retry.
 */
import { digest } from "../native/index.ts";

/**
 * XXH3-64 (seed 0) of the UTF-8 JSON array `[runSeed,purpose,env,taskKey,epoch,sample,turn]` (no spaces), its low 53
 * bits: a non-negative integer that a double holds exactly.
 *
 * - `purpose`: the purpose of the number, `"rollout"` of training, `"eval"`, `"tasks"`, ...
 * - `env`: name of the environment or source.
 * - `epoch`: how often the task had been given out before.
 * - `sample`: index within the group.
 * - `turn`: index of the model call within the rollout.
 */
export function seed(
  ...parts: [
    runSeed: number,
    purpose: string,
    env: string,
    taskKey: string,
    epoch: number,
    sample: number,
    turn: number,
  ]
): number {
  return lowBits(digest(JSON.stringify(parts)));
}

/** Seed of a model call of a rollout whose first call has `rolloutSeed`; turn 0 has `rolloutSeed` itself. */
export function turnSeed(rolloutSeed: number, turn: number): number {
  return turn === 0 ? rolloutSeed : seed(rolloutSeed, "turn", "", "", 0, 0, turn);
}

/** The low 53 bits of 16 hex digits. */
function lowBits(hex: string): number {
  const high = Number.parseInt(hex.slice(0, 8), 16) & 0x1f_ffff;
  return high * 2 ** 32 + Number.parseInt(hex.slice(8), 16);
}
