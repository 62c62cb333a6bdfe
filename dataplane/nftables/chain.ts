export interface RenderedChain {
  readonly name: string;
  readonly statements: readonly string[];
}

/** Adds a chain and returns its name. */
export type AddChain = (kind: string, statements: readonly string[]) => string;
