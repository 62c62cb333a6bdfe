import type { ConfigFile } from '@portcullis/core/game-servers/egg.ts';
import {
  renderTemplate,
  type TemplateScope,
} from '@portcullis/core/game-servers/eggs/templates.ts';
import { type FileContent, Folder, type Owner, Refusal } from '../server-folder/folder.ts';
import { EditProcess } from './edit-process.ts';
import type { Edit } from './editors/edit.ts';

/** YAML, XML and TOML take a hundred times as long as line formats. */
const MAX_BYTES: Readonly<Record<ConfigFile['parser'], number>> = {
  file: 4 * 1024 * 1024,
  properties: 4 * 1024 * 1024,
  ini: 4 * 1024 * 1024,
  json: 4 * 1024 * 1024,
  yaml: 1024 * 1024,
  xml: 1024 * 1024,
  toml: 1024 * 1024,
};
const NEW_MODE = 0o644;

/** See `ApplyConfigFiles`. All servers share the process that edits. */
export function createApplyConfigFiles(editProcess = new EditProcess()): ApplyConfigFiles {
  return async ({ folder, files, scope, owner }) => {
    const problems: ConfigProblem[] = [];
    let spent = false;
    for (const file of files) {
      const { edits, unknown } = editsOf(file, scope);
      const say = (detail: string): void => void problems.push({ path: file.path, detail });
      // Other servers wait for the process too.
      if (spent) {
        say('Left as it is: another file of the server took too long to edit.');
        continue;
      }
      for (const name of unknown)
        say(`Nothing stands for {{${name}}}; what it would replace stays.`);
      try {
        const left = await rewrite({ root: folder, file, edits, owner, editProcess });
        for (const detail of left) say(detail);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        say(`Left as it is: ${error.message}.`);
        spent = error instanceof Spent;
      }
    }
    return problems;
  };
}

function editsOf(
  file: ConfigFile,
  scope: TemplateScope,
): { readonly edits: readonly Edit[]; readonly unknown: readonly string[] } {
  const unknown = new Set<string>();
  const edits = file.replacements.flatMap(({ match, ifValue, value }): Edit[] => {
    if (typeof value !== 'string') return [{ match, ifValue, value }];
    const rendered = renderTemplate(value, scope);
    for (const name of rendered.unknown) unknown.add(name);
    return rendered.unknown.length === 0 ? [{ match, ifValue, value: rendered.text }] : [];
  });
  return { edits, unknown: [...unknown] };
}

class Spent extends Refusal {}

interface Rewriting {
  readonly root: string;
  readonly file: ConfigFile;
  readonly edits: readonly Edit[];
  readonly owner: Owner | null;
  readonly editProcess: EditProcess;
}

async function rewrite({
  root,
  file,
  edits,
  owner,
  editProcess,
}: Rewriting): Promise<readonly string[]> {
  const { path, parser } = file;
  const parts = path.split('/');
  const name = parts.pop() ?? '';
  const folder = await enterAll(await Folder.open(root), parts, owner);
  try {
    const found = await folder.read(name, MAX_BYTES[parser], owner);
    const { text, encoding } = decode(found, parser);
    const answer = await editProcess.edit({ parser, text, edits });
    if (!answer.ok) throw answer.spent ? new Spent(answer.reason) : new Refusal(answer.reason);
    if (answer.text !== text) {
      const bytes = Buffer.from(answer.text, encoding);
      await folder.write(name, bytes, found?.mode ?? NEW_MODE, owner);
    }
    return answer.problems;
  } finally {
    await folder.close();
  }
}

/** Opens the directories of a path one after the other, creates missing ones, and closes all but the last. */
async function enterAll(
  root: Folder,
  names: readonly string[],
  owner: Owner | null,
): Promise<Folder> {
  let folder = root;
  for (const name of names) {
    const before = folder;
    try {
      const next = await before.enter(name, { owner });
      if (next === null) throw new Refusal('a part of the way cannot be made');
      folder = next;
    } finally {
      await before.close();
    }
  }
  return folder;
}

/** Java properties files may be Latin-1, and edits write only ASCII, so the other bytes stay unchanged. */
function decode(
  found: FileContent | null,
  parser: ConfigFile['parser'],
): { readonly text: string; readonly encoding: 'utf8' | 'latin1' } {
  if (found === null) return { text: '', encoding: 'utf8' };
  const text = found.bytes.toString('utf8');
  if (Buffer.from(text, 'utf8').equals(found.bytes)) return { text, encoding: 'utf8' };
  if (parser === 'properties' || parser === 'ini' || parser === 'file') {
    return { text: found.bytes.toString('latin1'), encoding: 'latin1' };
  }
  throw new Refusal('it is not UTF-8');
}

/**
 * Rewrites the configuration files of a server before it starts. Never throws for hostile content: failures are
 * returned as problems, and the server starts anyway, as with Wings. A missing file is created with the values only; a
 * file that already has them is not written.
 */
export type ApplyConfigFiles = (order: {
  /** The absolute path of the server folder; the path is trusted, its content is not. */
  readonly folder: string;
  readonly files: readonly ConfigFile[];
  readonly scope: TemplateScope;
  /** The owner of new and rewritten files. Null: the account of this process. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}) => Promise<readonly ConfigProblem[]>;

export interface ConfigProblem {
  readonly path: string;
  /** A sentence. */
  readonly detail: string;
}
