import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** Programs of ours for the references of local images, which the process engine has in place of images. */
export type ProcessImages = Readonly<Record<string, { readonly entrypoint: readonly string[] }>>;

const HEARTH = join(import.meta.dirname, 'hearth');

/**
 * Each program is started as the entrypoint of its image would be, in the server's folder and with its environment.
 * If this installation lies where only root may enter, such as below `/root`, a copy is put beside the node's own
 * directory, `stateDir`, which is closed too: games run as other accounts.
 */
export function openProcessImages(stateDir: string): ProcessImages {
  const isOpen = [process.execPath, join(HEARTH, 'main.ts')].every(mayBeReadByAll);
  // Where earlier versions put it.
  rmSync(join(stateDir, 'images'), { recursive: true, force: true });
  const [node, hearth] = isOpen ? [process.execPath, HEARTH] : copyTo(`${stateDir}-images`);
  return { 'portcullis/hearth': { entrypoint: [node, join(hearth, 'main.ts')] } };
}

function mayBeReadByAll(file: string): boolean {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & constants.S_IXOTH) === 0) return false;
    if (folder === dirname(folder)) break;
  }
  return (statSync(file).mode & constants.S_IROTH) !== 0;
}

function copyTo(folder: string): readonly [node: string, hearth: string] {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  // By its version: a server of another one may run.
  const node = join(folder, `node-${process.version}`);
  if (!existsSync(node)) {
    const part = `${node}.part`;
    copyFileSync(process.execPath, part, constants.COPYFILE_FICLONE);
    chmodSync(part, 0o755);
    renameSync(part, node);
  }
  const hearth = join(folder, 'hearth');
  mkdirSync(hearth, { recursive: true });
  chmodSync(hearth, 0o755);
  for (const file of readdirSync(HEARTH)) {
    const copy = join(hearth, file);
    copyFileSync(join(HEARTH, file), copy);
    chmodSync(copy, 0o644);
  }
  return [node, hearth];
}

/** The egg of the server that `portcullis up` starts when nobody names another. */
export const EXAMPLE_EGG = join(import.meta.dirname, '..', '..', 'eggs', 'hearth.json');
