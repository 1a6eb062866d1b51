/**
 * Files of a generated project with places where they may differ.
 *
 * `«a|b|c»` is a site: `a` is right, the others are faults. A line that ends with ` §x` stands only in projects with the feature `x`. `$word` is a
 * word of the project's domain. Texts are Python or Markdown; constants that are drawn stand in the settings only.
 */
export interface Template {
  /** Below the package, or below the root for documents. */
  readonly path: string;
  /** The feature that the file belongs to; none: every project has it. */
  readonly feature?: string;
  readonly text: string;
}
