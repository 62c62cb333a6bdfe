import { join } from 'node:path';
import { type Program, RUNNING } from '@portcullis/link/program/readable-program.ts';

/** Programs of ours for the references of local images, which the process engine has in place of images. */
export type ProcessImages = Readonly<Record<string, { readonly entrypoint: readonly string[] }>>;

/**
 * Each program is started as the entrypoint of its image would be, in the server's folder and with its environment. Games
 * run as other accounts, which must be able to read `program`.
 */
export function openProcessImages({ root, node }: Program = RUNNING): ProcessImages {
  const hearth = join(root, 'examples', 'hearth', 'main.ts');
  return { 'portcullis/hearth': { entrypoint: [node, hearth] } };
}
