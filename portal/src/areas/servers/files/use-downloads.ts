import { saveBlob, saveFrom } from '../../../download.ts';
import { filesMessages } from '../../../messages/files.ts';
import { useSession } from '../../../session/session.ts';
import type { Entry } from './actions.ts';
import { nameOf } from './paths.ts';
import { sayFailure } from './use-file-changes.ts';
import { useTransfers } from './use-transfers.ts';

/** Hands files to the browser: one as it is, several and folders as a zip that is made while it is sent. */
export function useDownloads(slice: string) {
  const { person } = useSession();
  const transfers = useTransfers();
  return (entries: readonly Pick<Entry, 'path' | 'type'>[], folder: string): void => {
    const paths = entries.map(({ path }) => path);
    const [first] = entries;
    if (first === undefined) return;
    const isFile = entries.length === 1 && first.type === 'file';
    if (person === null && !isFile) sayFailure(new Error(filesMessages.refusals.keyZip));
    else if (person === null) {
      // A browser sends no key with a link.
      transfers
        .download({ slice, path: first.path })
        .then(({ body }) => new Response(body).blob())
        .then((blob) => saveBlob(nameOf(first.path), blob))
        .catch(sayFailure);
    } else {
      const name = entries.length === 1 ? nameOf(first.path) : nameOf(folder) || 'files';
      const zip = { slice, paths, format: 'zip' } as const;
      saveFrom(transfers.url(isFile ? { slice, paths } : zip), isFile ? name : `${name}.zip`);
    }
  };
}
