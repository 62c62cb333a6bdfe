export interface RenderedChain {
  readonly name: string;
  readonly statements: readonly string[];
}

/** Takes a chain in and answers its name. */
export type AddChain = (kind: string, statements: readonly string[]) => string;
