/** Operation of computer systems: queues, services, histories and trees of files, each with its own model of what an action does. */
import type { Family, WorldRow } from "../../row.ts";
import { firstBadRevision } from "./first-bad-revision.ts";
import { formWizard } from "./form-wizard.ts";
import { incidentRepair } from "./incident-repair.ts";
import { linkCrawl } from "./link-crawl.ts";
import { orderService } from "./order-service.ts";
import { queueRepair } from "./queue-repair.ts";
import { sheetRepair } from "./sheet-repair.ts";
import { treeSync } from "./tree-sync.ts";

export const systems: Family<WorldRow> = {
  id: "systems",
  rows: [queueRepair, incidentRepair, firstBadRevision, treeSync, orderService, linkCrawl, formWizard, sheetRepair],
};
