/** The trainer process of reinforcement learning. */
export { PROFILE_FOLDER } from "./backend/backend.ts";
export { fakeRollouts } from "./rl/fake-rollouts.ts";
export { untilAdopted } from "./rl/last-version.ts";
export { type TakenOver, takeOver } from "./rl/replay.ts";
export { runTrainer, type TrainerJob } from "./rl/run-trainer.ts";
export { learningRate } from "./schedule.ts";
