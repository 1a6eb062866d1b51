/** The trainer processes: RL steps and the supervised stage. */
export { assertBaseWeights, weightsDigest } from "./base-weights.ts";
export { PROFILE_FOLDER } from "./backend/backend.ts";
export { fakeRollouts } from "./rl/fake-rollouts.ts";
export { runSft, type SftJob, type SftResult } from "./sft/run-sft.ts";
export { untilAdopted } from "./rl/last-version.ts";
export { type TakenOver, takeOver } from "./rl/replay.ts";
export { runTrainer, type TrainerJob } from "./rl/run-trainer.ts";
export { learningRate } from "./schedule.ts";
export { readSftPosition, type SftCheckpoints, type SftStart } from "./sft/sft-checkpoint.ts";
export { evaluatedVersions, SftPublisher } from "./sft/sft-evaluations.ts";
export { assertSameData, dataSource } from "./sft/sft-data.ts";
