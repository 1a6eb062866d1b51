/** What database systems decide: results of queries, keys, and what transactions see. */
import type { Family } from "../../row.ts";
import { candidateKeys } from "./candidate-keys.ts";
import { snapshotReads } from "./snapshot-reads.ts";
import { sqlResultReading } from "./sql-result-reading.ts";

export const databases: Family = { id: "databases", rows: [sqlResultReading, candidateKeys, snapshotReads] };
