/** The supervised stage: its trainer, its data and its checkpoints. Nothing of it is public. */
export { PROFILE_FOLDER } from "./backend/backend.ts";
export { runSft, type SftJob, type SftResult } from "./sft/run-sft.ts";
export { readSftPosition, type SftCheckpoints, type SftStart } from "./sft/sft-checkpoint.ts";
export { evaluatedVersions, SftPublisher } from "./sft/sft-evaluations.ts";
export { assertSameData, dataSource } from "./sft/sft-data.ts";
