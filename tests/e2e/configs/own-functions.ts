import { policyLoss, type AdvantageGroup, type CustomLossInputs } from "prl-lm/algorithms";

/** GRPO's advantages, and twice as much for the first token. */
export function advantages({ rollouts }: AdvantageGroup): Float32Array[] {
  const mean = rollouts.reduce((sum, { reward }) => sum + reward, 0) / rollouts.length;
  return rollouts.map(({ reward, columns }) => {
    const { mask } = columns();
    const first = mask.indexOf(1);
    return Float32Array.from(mask, (_, t) => (reward - mean) * (t === first ? 2 : 1));
  });
}

/** The engine's own loss by another way. */
export function loss(inputs: CustomLossInputs, { type }: { type: string }) {
  return policyLoss(type, inputs);
}
