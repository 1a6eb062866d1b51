/** The families of the category science. */
import type { Family } from "../row.ts";
import { biology } from "./biology/index.ts";
import { chemistry } from "./chemistry/index.ts";
import { countedModels } from "./counted-models/index.ts";
import { earthAndSky } from "./earth-and-sky/index.ts";
import { fields } from "./fields/index.ts";
import { hiddenLawTable } from "./hidden-law-table/index.ts";
import { measurement } from "./measurement/index.ts";
import { mechanics } from "./mechanics/index.ts";

export const FAMILIES: readonly Family[] = [
  mechanics,
  fields,
  chemistry,
  measurement,
  biology,
  earthAndSky,
  countedModels,
  hiddenLawTable,
];
