/** The families of the category research. */
import type { Family } from "../row.ts";
import { corpusQuestions } from "./corpus-questions/index.ts";
import { evidence } from "./evidence/index.ts";

export const FAMILIES: readonly Family[] = [corpusQuestions, evidence];
