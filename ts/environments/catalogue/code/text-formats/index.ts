/** Programs that read and write small formats of text. */
import type { Family, ProgramRow } from "../../row.ts";
import { addressNormalForm } from "./address-normal-form.ts";
import { delimitedRecords } from "./delimited-records.ts";
import { pathPattern } from "./path-pattern.ts";
import { settingsFile } from "./settings-file.ts";
import { versionChoice } from "./version-choice.ts";

export const textFormats: Family<ProgramRow> = {
  id: "text-formats",
  rows: [delimitedRecords, settingsFile, versionChoice, addressNormalForm, pathPattern],
};
