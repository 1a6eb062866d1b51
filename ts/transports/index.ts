/** How batches, weights and sampling requests travel between the processes of a run. */
export {
  checkpointDir,
  type CheckpointRules,
  type CheckpointWriter,
  dropLaterCheckpoints,
  findCheckpoint,
  type FoundCheckpoint,
  hasHalf,
  isCheckpointStep,
  isJoined,
  joinHalves,
  newestJoined,
  newestWholeHalf,
  prepareHalf,
  pruneCheckpoints,
  refuseCheckpoints,
  unjoinedSteps,
  verifyHalf,
  writeHalf,
} from "./checkpoints.ts";
export {
  filesystemRollouts,
  hasBatches,
  type ReceivedBatch,
  rolloutsDir,
  type RolloutReceiver,
  type RolloutSender,
  waitForFile,
} from "./rollouts.ts";
export { clearStep, type EvaluationFiles, evaluationFiles, pruneEvaluations } from "./evaluation-files.ts";
export {
  type GpuTurn,
  gpuTurnPath,
  readGpuTurn,
  trainerTurn,
  type TrainerTurn,
  untilServersTurn,
  writeGpuTurn,
} from "./gpu-turn.ts";
export { type OrchestratorStop, orchestratorStop, type TrainerStop, trainerStop } from "./stop-checkpoint.ts";
export { pruneRollouts } from "./rollout-retention.ts";
export {
  filesystemWeights,
  newestVersion,
  type AvailableWeights,
  type PublishedWeights,
  type WeightFollower,
  type WeightSender,
  type WeightSource,
  weightsFolder,
} from "./weights.ts";
export { grpcRolloutReceiver, grpcRolloutSender } from "./grpc-rollouts.ts";
export {
  grpcWeightFollower,
  grpcWeightSender,
  laterThan,
  openWeightPuller,
  type WeightPuller,
} from "./grpc-weights.ts";
export {
  openInferencePuller,
  openOrchestratorTransports,
  openTrainerTransports,
  transportToken,
  type TrainerAddresses,
  type TrainerTransports,
} from "./by-config.ts";
export { readTls, type TlsFiles } from "./tls.ts";
