import type { ConfigFile } from '@portcullis/core/game-servers/egg.ts';
import type { TemplateScope } from '@portcullis/core/game-servers/eggs/templates.ts';

/**
 * Rewrites the configuration files of a server before it starts. Never throws for what is in the folder, which is
 * the game's: what cannot be done is a problem in words, and the server starts all the same, as with Wings. A file
 * that is missing is made, with the values alone; a file that already has them is not written.
 */
export type ApplyConfigFiles = (order: {
  /** The server's folder, absolute; its own path is trusted, nothing in it is. */
  readonly folder: string;
  readonly files: readonly ConfigFile[];
  readonly scope: TemplateScope;
  /** Whom new and rewritten files belong to; null: whoever runs this. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}) => Promise<readonly ConfigProblem[]>;

export interface ConfigProblem {
  readonly path: string;
  /** A sentence. */
  readonly detail: string;
}
