import type { FileAnswerOf } from '@portcullis/link/messages/files.ts';
import { aboutPath, FileRefusal } from '../refusal.ts';

/**
 * Runs work for each of several paths, one after the other. What is refused does not hold back the rest, unless all that
 * was asked for is one path: then its refusal is that of the call.
 */
export async function each(
  paths: readonly string[],
  work: (path: string, index: number) => Promise<void>,
): Promise<FileAnswerOf<'done'>> {
  const done: string[] = [];
  const failed: FileAnswerOf<'done'>['failed'][number][] = [];
  for (const [index, path] of paths.entries()) {
    try {
      await work(path, index);
      done.push(path);
    } catch (error) {
      const refusal = aboutPath(path, error);
      if (!(refusal instanceof FileRefusal) || paths.length === 1) throw refusal;
      failed.push({ path, code: refusal.code, reason: refusal.message });
    }
  }
  return { kind: 'done', done, failed };
}
