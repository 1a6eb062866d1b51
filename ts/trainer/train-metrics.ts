/** The engine's metrics of a training step, under prime-rl's names. */

const BY_ENVIRONMENT = /^(entropy|mismatch_kl)\/(\d+)$/u;
/** Means over tokens for which prime-rl also logs other statistics. */
const MEAN =
  /^(loss|(entropy|mismatch_kl)\/.+|(un)?masked_mismatch_kl|is_masked(_low|_high)?|masked_advantage_(positive|negative)|ref_kl\/.+)$/u;

/**
 * Means by environment get the environment's name; where the run has one only, they are those of all and left out. Adds `kl_ent_ratio/mean`, the
 * mismatch over the entropy, where there is some.
 */
export function trainMetrics(metrics: Record<string, number>, envNames: readonly string[]): Record<string, number> {
  const values: Record<string, number> = {};
  for (const [name, value] of Object.entries(metrics)) {
    const [, what = "", id] = BY_ENVIRONMENT.exec(name) ?? [];
    if (id !== undefined && envNames.length < 2) continue;
    const named = id === undefined ? name : `${what}/${envNames[Number(id)] ?? id}`;
    values[MEAN.test(name) ? `${named}/mean` : named] = value;
  }
  const [mismatch, entropy = 0] = [values["mismatch_kl/all/mean"], values["entropy/all/mean"]];
  if (mismatch !== undefined && entropy > 0) values["kl_ent_ratio/mean"] = mismatch / entropy;
  return values;
}

/** Peak memory of this process since its start, in GiB. */
export function peakMemory(): number {
  // maxRSS is in KiB.
  return process.resourceUsage().maxRSS / 2 ** 20;
}
