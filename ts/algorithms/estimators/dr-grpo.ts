/**
 * Dr. GRPO: A_i = R_i - mean_G, without the division by the standard deviation, which weighs questions by how hard they
 * are.
 *
 * Source: "Understanding R1-Zero-Like Training", arXiv:2503.20783, section 3.2. The paper's other half, the constant
 * denominator in place of each answer's length, belongs to the loss (`aggregation: "sum/(B*L)"` of the policy loss of
 * this name), not to this number.
 */
import type { AdvantageEstimator } from "../advantages.ts";
import { centred, singletonAdvantage } from "../moments.ts";

/** Reads `singleton`. */
export const drGrpo: AdvantageEstimator = (groups, { singleton }) =>
  groups.map((group) =>
    group.length === 1 ? group.map((reward) => singletonAdvantage(reward, singleton)) : centred(group),
  );
