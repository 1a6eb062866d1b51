/** `|`: the filters of jinja2, found by name. */
import { TemplateFailure, TemplateUnsupported } from "../failures.ts";
import { SEQUENCE_FILTERS } from "./sequence-filters.ts";
import { TEXT_FILTERS } from "./text-filters.ts";
import type { Filter } from "./filter.ts";

/** Filters of jinja2 that are not implemented: they are random, or their output is for web pages. */
const UNSUPPORTED = ["filesizeformat", "pprint", "random", "striptags", "urlize", "wordwrap", "xmlattr"];

export function isFilterName(name: string): boolean {
  return TEXT_FILTERS.has(name) || SEQUENCE_FILTERS.has(name) || UNSUPPORTED.includes(name);
}

export function findFilter(name: string): Filter {
  const filter = TEXT_FILTERS.get(name) ?? SEQUENCE_FILTERS.get(name);
  if (filter !== undefined) return filter;
  if (UNSUPPORTED.includes(name)) throw new TemplateUnsupported(`the filter '${name}' is not implemented`);
  throw new TemplateFailure(`there is no filter named '${name}'`);
}
