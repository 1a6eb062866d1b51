/** Shell scripts and text tools: words, exit statuses, redirections, pipelines, sed, make and cron. */
import type { Family } from "../../row.ts";
import { cronFirings } from "./cron-firings.ts";
import { exitStatusFlow } from "./exit-status-flow.ts";
import { pipelineReading } from "./pipeline-reading.ts";
import { redirectionOrder } from "./redirection-order.ts";
import { shellWords } from "./shell-words.ts";
import { staleTargets } from "./stale-targets.ts";
import { streamEditorReading } from "./stream-editor-reading.ts";

export const shell: Family = {
  id: "shell",
  rows: [shellWords, exitStatusFlow, redirectionOrder, pipelineReading, streamEditorReading, staleTargets, cronFirings],
};
