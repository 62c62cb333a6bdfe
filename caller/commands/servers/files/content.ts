import { isUtf8 } from 'node:buffer';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { connect } from '../../../connect.ts';
import { failed, usageError } from '../../../exit.ts';
import type { CallOptions } from '../../../options.ts';
import { print } from '../../../output.ts';
import { findUuid } from '../find.ts';

type Content = { readonly content: string; readonly encoding: 'utf-8' | 'base64' };

/** Writes only what was edited, and only on what was read. */
export async function editFile(server: string, path: string, options: CallOptions): Promise<void> {
  const editor = process.env['VISUAL'] || process.env['EDITOR'];
  if (!editor) throw usageError('set EDITOR to the editor to use, such as EDITOR=nano');
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data, response } = await client.readFile({ slice, query: { path } });
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-edit-'));
  try {
    const file = join(folder, basename(path));
    const before = bytesOf(data);
    writeFileSync(file, before, { mode: 0o600 });
    await runEditor(editor, file);
    const after = readFileSync(file);
    if (after.equals(before)) return print(`${path} was not changed.`);
    const ifMatch = response.etag === null ? {} : { ifMatch: response.etag };
    await client.writeFile({ slice, query: { path }, body: contentOf(after) }, ifMatch);
    if (options.quiet !== true) print(`${path} was written.`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An editor may have arguments of its own. */
async function runEditor(editor: string, file: string): Promise<void> {
  const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw failed(`the editor ended with code ${code}; nothing was written`);
}

function bytesOf({
  content,
  encoding,
}: {
  readonly content: string;
  readonly encoding: string;
}): Buffer {
  return Buffer.from(content, encoding === 'base64' ? 'base64' : 'utf8');
}

function contentOf(bytes: Buffer): Content {
  const isText = isUtf8(bytes) && !bytes.includes(0);
  return isText
    ? { content: bytes.toString(), encoding: 'utf-8' }
    : { content: bytes.toString('base64'), encoding: 'base64' };
}
