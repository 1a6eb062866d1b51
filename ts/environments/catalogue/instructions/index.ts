/** The families of the category instructions. */
import type { Family } from "../row.ts";
import { priorityStack } from "./priority-stack/index.ts";

export const FAMILIES: readonly Family[] = [priorityStack];
