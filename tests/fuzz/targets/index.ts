/** All targets: the readers in TypeScript of bytes that others wrote. Those in Rust are in `crates/fuzz`. */
import type { Target } from "../engine/target.ts";
import { ANSWER_TARGETS } from "./answers.ts";
import { CONFIG_TARGETS } from "./configs.ts";
import { DATA_TARGETS } from "./data.ts";
import { MODEL_TARGETS } from "./models.ts";
import { RECORD_TARGETS } from "./records.ts";
import { REQUEST_TARGETS } from "./requests.ts";
import { VERDICT_TARGETS } from "./verdicts.ts";

export const TARGETS: readonly Target[] = [
  ...CONFIG_TARGETS,
  ...MODEL_TARGETS,
  ...REQUEST_TARGETS,
  ...ANSWER_TARGETS,
  ...DATA_TARGETS,
  ...VERDICT_TARGETS,
  ...RECORD_TARGETS,
];
