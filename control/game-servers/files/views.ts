import { isUtf8 } from 'node:buffer';
import type { FileAnswerOf, FileEntry, FileJob } from '@portcullis/link/messages/files.ts';
import { timeView } from '../../http/operations/view.ts';

export function entryView(folder: string, entry: FileEntry) {
  return {
    name: entry.name,
    path: folder === '' ? entry.name : `${folder}/${entry.name}`,
    type: entry.type,
    size: entry.size,
    modified_at: momentView(entry.modifiedAtMs),
    mode: modeView(entry.mode),
    denied: entry.denied,
    content: entry.content,
  };
}

/** Text as text, and anything else in base64. */
export function contentView(path: string, answer: FileAnswerOf<'content'>) {
  const bytes = Buffer.from(answer.content, 'base64');
  const isText = isUtf8(bytes) && !bytes.includes(0);
  return {
    path,
    encoding: isText ? 'utf-8' : 'base64',
    content: isText ? bytes.toString() : answer.content,
    size: answer.size,
    modified_at: momentView(answer.modifiedAtMs),
    mode: modeView(answer.mode),
  };
}

export function changedView({ done, failed }: FileAnswerOf<'done'>) {
  return { done, failed: failed.map(({ path, reason }) => ({ path, reason })) };
}

export function uploadView(path: string, { received, size, isWhole }: FileAnswerOf<'received'>) {
  return { path, received, size, done: isWhole };
}

export function deletedView({ deletedAtMs, ...item }: FileAnswerOf<'bin'>['items'][number]) {
  return { ...item, deleted_at: momentView(deletedAtMs) };
}

export function jobView({ startedAtMs, ...job }: FileJob) {
  return {
    id: job.id,
    kind: job.kind,
    path: job.path,
    state: job.state,
    started_at: momentView(startedAtMs),
    bytes: job.bytes,
    total_bytes: job.totalBytes,
    entries: job.entries,
    notes: job.notes,
  };
}

export function linkView({ url, expiresAtMs }: FileAnswerOf<'linked'>) {
  return { url, expires_at: momentView(expiresAtMs) };
}

function momentView(ms: number): string {
  return timeView(new Date(ms));
}

function modeView(mode: number): string {
  return mode.toString(8).padStart(3, '0');
}
