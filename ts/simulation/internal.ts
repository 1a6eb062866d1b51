/** Made-up answers, for benches of the orchestrator too. */
export {
  madeUpAnswer,
  madeUpColumns,
  madeUpEpisode,
  type MadeUpRollout,
  madeUpTasks,
  madeUpWeights,
} from "./made-up-answers.ts";
