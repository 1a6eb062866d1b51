/** Records of a business that tools read and change: every task has another rule for a right final state. */
import type { Family, WorldRow } from "../../row.ts";
import { customerMerge } from "./customer-merge.ts";
import { expenseAudit } from "./expense-audit.ts";
import { meetingCalendar } from "./meeting-calendar.ts";

export const businessRecords: Family<WorldRow> = {
  id: "business-records",
  rows: [expenseAudit, customerMerge, meetingCalendar],
};
