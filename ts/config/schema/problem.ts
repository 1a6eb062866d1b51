/** Two keys of a config that do not fit together. */
export interface Problem {
  /** The key to report. */
  readonly path: (string | number)[];
  readonly message: string;
}
