/** Records of a business that tools read and change: every task has another rule for a right final state. */
import type { Family, WorldRow } from "../../row.ts";
import { accessApprovals } from "./access-approvals.ts";
import { bankReconciliation } from "./bank-reconciliation.ts";
import { customerMerge } from "./customer-merge.ts";
import { expenseAudit } from "./expense-audit.ts";
import { fundTransfers } from "./fund-transfers.ts";
import { groupPermissions } from "./group-permissions.ts";
import { itineraryBooking } from "./itinerary-booking.ts";
import { meetingCalendar } from "./meeting-calendar.ts";
import { restockOrders } from "./restock-orders.ts";

export const businessRecords: Family<WorldRow> = {
  id: "business-records",
  rows: [
    expenseAudit,
    customerMerge,
    meetingCalendar,
    accessApprovals,
    fundTransfers,
    itineraryBooking,
    restockOrders,
    groupPermissions,
    bankReconciliation,
  ],
};
