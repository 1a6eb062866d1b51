/** Jinja templates, rendered as Python's jinja2 renders them where transformers configures it. */
export { TemplateFailure, TemplateUnsupported } from "./failures.ts";
export type { GenerationMarks } from "./rendering.ts";
export { Template, type TemplateOptions } from "./template.ts";
