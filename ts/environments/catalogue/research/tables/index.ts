/** Tables, maps, schedules and timelines: what a document says once it is read as a whole. */
import type { Family } from "../../row.ts";
import { crosstabCompletion } from "./crosstab-completion.ts";
import { footnotedTableQuestion } from "./footnoted-table-question.ts";
import { relativeTimeline } from "./relative-timeline.ts";
import { reportTableAudit } from "./report-table-audit.ts";
import { scaleMapReading } from "./scale-map-reading.ts";
import { scheduleSlackReading } from "./schedule-slack-reading.ts";
import { statementTieOut } from "./statement-tie-out.ts";

export const tables: Family = {
  id: "tables",
  rows: [
    footnotedTableQuestion,
    reportTableAudit,
    statementTieOut,
    crosstabCompletion,
    scaleMapReading,
    scheduleSlackReading,
    relativeTimeline,
  ],
};
