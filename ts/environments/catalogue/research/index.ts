/** The families of the category research. */
import type { Family } from "../row.ts";
import { collections } from "./collections/index.ts";
import { corpusQuestions } from "./corpus-questions/index.ts";
import { evidence } from "./evidence/index.ts";
import { reanalysis } from "./reanalysis/index.ts";
import { tables } from "./tables/index.ts";

export const FAMILIES: readonly Family[] = [corpusQuestions, evidence, tables, collections, reanalysis];
