/** The trainer processes: RL steps and the supervised stage. */
export { assertBaseWeights, weightsDigest } from "./base-weights.ts";
export { fakeRollouts } from "./fake-rollouts.ts";
export { runSft, type SftJob, type SftResult } from "./run-sft.ts";
export { runTrainer, type TrainerJob } from "./run-trainer.ts";
export { learningRate } from "./schedule.ts";
export { readSftPosition, type SftCheckpoints, type SftStart } from "./sft-checkpoint.ts";
export { evaluatedVersions, SftPublisher } from "./sft-evaluations.ts";
export { assertSameData, dataSource } from "./sft-data.ts";
