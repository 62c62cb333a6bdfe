import type { FileJob, FilesChanged } from '@portcullis/client/index.ts';
import type { KeyClient } from '@portcullis/client/index.ts';
import { showToast } from '../../../components/forms/toasts.tsx';
import { type Said, useWrite } from '../../../components/forms/use-write.ts';
import { filesMessages } from '../../../messages/files.ts';
import { useSession } from '../../../session/session.ts';
import { folderOf, joinPath, nameOf } from './paths.ts';

const text = filesMessages.changes;
/** Paths of one request. */
const AT_ONCE = 100;

type Changed = FilesChanged['data'];

export interface Move {
  readonly from: string;
  readonly to: string;
}

/** Changes of files that are said in a toast, with an undo where there is one. */
export interface FileChanges {
  move(moves: readonly Move[]): void;
  remove(paths: readonly string[]): void;
  copy(from: string, to: string): void;
  unpack(path: string, to: string): void;
}

export function useFileChanges(uuid: string): FileChanges {
  const { client } = useSession();
  const files = filesOf(client, uuid);
  const { mutate } = useWrite((change: () => Promise<Said | null>) => change(), {
    say: (said) => said,
  });
  const run = (change: () => Promise<Said | null>): void => mutate(change, { onError: sayFailure });
  return {
    move: (moves) =>
      run(async () => {
        const { done, failed } = await files.move(moves);
        sayFailed(failed, moves.length);
        const moved = moves.filter(({ from }) => done.includes(from));
        if (moved.length === 0) return null;
        const back = moved.map(({ from, to }) => ({ from: to, to: from })).toReversed();
        return { text: wordsOfMove(moved), undo: async () => sayUndone(await files.move(back)) };
      }),
    remove: (paths) =>
      run(async () => {
        const { done, failed } = await files.remove(paths);
        sayFailed(failed, paths.length);
        if (done.length === 0) return null;
        return {
          text: text.deleted(done.map(nameOf)),
          undo: async () => sayUndone(await files.restoreNewest(done)),
        };
      }),
    copy: (from, to) =>
      run(async () => {
        sayJob((await client.copyFile({ slice: uuid, body: { from, to } })).data);
        return null;
      }),
    unpack: (path, to) =>
      run(async () => {
        sayJob((await client.unpackFile({ slice: uuid, body: { path, to } })).data);
        return null;
      }),
  };
}

/** A long list of paths as requests that the service takes. */
function filesOf(client: KeyClient, slice: string) {
  return {
    move: (moves: readonly Move[]) =>
      inParts(
        moves,
        async (part) => (await client.moveFiles({ slice, body: { moves: part } })).data,
      ),
    remove: (paths: readonly string[]) =>
      inParts(
        paths,
        async (part) => (await client.deleteFiles({ slice, body: { paths: part } })).data,
      ),
    /** Restores the newest that the bin has of each path: what was just deleted. */
    async restoreNewest(paths: readonly string[]): Promise<Changed> {
      const { data } = await client.listDeletedFiles({ slice });
      const ids = paths.flatMap((path) => data.find((item) => item.path === path)?.id ?? []);
      return inParts(
        ids,
        async (part) => (await client.restoreFiles({ slice, body: { ids: part } })).data,
      );
    },
  };
}

export async function inParts<Item>(
  items: readonly Item[],
  send: (part: Item[]) => Promise<Changed>,
): Promise<Changed> {
  const all: { done: string[]; failed: Changed['failed'][number][] } = { done: [], failed: [] };
  for (let at = 0; at < items.length; at += AT_ONCE) {
    const { done, failed } = await send(items.slice(at, at + AT_ONCE));
    all.done.push(...done);
    all.failed.push(...failed);
  }
  return all;
}

function wordsOfMove(moves: readonly Move[]): string {
  const [first] = moves;
  if (first !== undefined && moves.length === 1 && folderOf(first.from) === folderOf(first.to))
    return text.renamed(nameOf(first.from), nameOf(first.to));
  return text.moved(
    moves.map(({ from }) => nameOf(from)),
    folderOf(first?.to ?? ''),
  );
}

/** Where these paths go when they are moved to a folder, without those that are there already. */
export function movesTo(folder: string, paths: readonly string[]): readonly Move[] {
  return paths
    .map((from) => ({ from, to: joinPath(folder, nameOf(from)) }))
    .filter(({ from, to }) => from !== to);
}

export function sayFailed(failed: Changed['failed'], all: number): void {
  const [first] = failed;
  if (first === undefined) return;
  showToast({
    color: 'red',
    title: text.failed(failed.length, all),
    message: first.reason,
    autoClose: false,
  });
}

function sayUndone({ failed }: Changed): void {
  sayFailed(failed, failed.length);
}

export function sayFailure({ message }: Error): void {
  showToast({ color: 'red', title: text.refused, message });
}

/** Says how a job ended; while it runs, the list of jobs shows it. */
export function sayJob({ kind, path, state, notes }: FileJob): void {
  if (state === 'running') return;
  const isDone = state === 'done';
  showToast({
    color: isDone ? 'green' : 'red',
    title: text.job(kind, state, nameOf(path)),
    message: notes.join(' '),
    ...(notes.length > 0 && { autoClose: false }),
  });
}
