import type { KeyClient } from '@portcullis/client/index.ts';
import type { FileTransfers } from '@portcullis/client/transfers.ts';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { filesMessages } from '../../../../messages/files.ts';
import { useSession } from '../../../../session/session.ts';
import { type FileAction, refusalOf } from '../actions.ts';
import { joinPath } from '../paths.ts';
import { sayFailure } from '../use-file-changes.ts';
import { useTransfers } from '../use-transfers.ts';
import { createBegunUploads } from './begun-uploads.ts';
import { type LocalTree, topNames, without } from './dropped.ts';
import { createUploadTarget } from './upload-target.ts';
import { type Upload, UploadQueue } from './upload-queue.ts';

/** Between two readings of the folder while files arrive. */
const READ_MS = 2_000;
const MOST_NAMES = 1_000;

/** A queue for each client and server, so that uploads go on while other pages are shown. */
const queues = new WeakMap<KeyClient, Map<string, UploadQueue>>();

function queueOf(client: KeyClient, transfers: FileTransfers, uuid: string): UploadQueue {
  const own = queues.get(client) ?? new Map<string, UploadQueue>();
  queues.set(client, own);
  const known = own.get(uuid);
  if (known !== undefined) return known;
  const queue = new UploadQueue(createUploadTarget(client, transfers, uuid), {
    now: () => performance.now(),
    sleep,
    ...createBegunUploads(uuid, localStorage),
  });
  own.set(uuid, queue);
  // Asks before the page is left, whatever it shows then.
  window.addEventListener('beforeunload', (event) => {
    if (queue.isBusy) event.preventDefault();
  });
  return queue;
}

/** Files that would replace others, until somebody decides. */
export interface Clash {
  readonly tree: LocalTree;
  readonly folder: string;
  readonly names: readonly string[];
}

export interface Uploads {
  readonly list: readonly Upload[];
  readonly refusal: string | null;
  /** Why nothing may be replaced. */
  readonly replaceRefusal: string | null;
  readonly clash: Clash | null;
  /** Uploads them, or asks first what becomes of those whose names are there. */
  offer(tree: LocalTree, folder: string): void;
  decide(decision: 'replace' | 'skip' | 'cancel'): void;
  cancel(id?: number): void;
  retry(id?: number): void;
  clear(): void;
}

export function useUploads(uuid: string, rights: readonly string[]): Uploads {
  const { client } = useSession();
  const queue = queueOf(client, useTransfers(), uuid);
  const list = useSyncExternalStore(queue.subscribe, queue.list);
  const [clash, setClash] = useState<Clash | null>(null);
  useFolderReading(uuid, list);
  const refusal = (action: FileAction) => refusalOf(action, rights);
  const add = (tree: LocalTree, folder: string, mayReplace = false): void => {
    const files = tree.files.map(({ path, file }) => ({ path: joinPath(folder, path), file }));
    queue.add(files, mayReplace);
    queue.addFolders(tree.emptyFolders.map((path) => joinPath(folder, path))).catch(sayFailure);
  };
  return {
    list,
    refusal: refusal('upload'),
    replaceRefusal: refusal('save'),
    clash,
    offer(tree, folder) {
      findClash(client, uuid, { tree, folder })
        .then((names) => {
          if (names.length === 0) add(tree, folder);
          else setClash({ tree, folder, names });
        })
        .catch(sayFailure);
    },
    decide(decision) {
      setClash(null);
      if (clash === null || decision === 'cancel') return;
      const { tree, folder, names } = clash;
      if (decision === 'replace') add(tree, folder, true);
      else add(without(tree, new Set(names)), folder);
    },
    cancel: (id) => queue.cancel(id),
    retry: (id) => queue.retry(id),
    clear: () => queue.clear(),
  };
}

/** The names of the tree that its folder has already. */
async function findClash(
  client: KeyClient,
  slice: string,
  { tree, folder }: Pick<Clash, 'tree' | 'folder'>,
): Promise<readonly string[]> {
  const query = { path: folder, per_page: MOST_NAMES };
  const { data } = await client.listFiles({ slice, query });
  const names = topNames(tree);
  return data.map(({ name }) => name).filter((name) => names.has(name));
}

/** Reads the folder again as files arrive, and once all have. */
function useFolderReading(uuid: string, list: readonly Upload[]): void {
  const queries = useQueryClient();
  const done = list.filter(({ state }) => state === 'done').length;
  const isBusy = list.some(({ state }) => state === 'running' || state === 'waiting');
  useEffect(() => {
    if (done === 0) return undefined;
    const read = (): void =>
      void queries.invalidateQueries({ queryKey: ['server', uuid, 'files'] });
    const timer = window.setTimeout(read, isBusy ? READ_MS : 0);
    return () => window.clearTimeout(timer);
  }, [queries, uuid, isBusy, isBusy ? Math.floor(done / 20) : done]);
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(new Error(filesMessages.uploads.cancelled));
    });
  });
}
