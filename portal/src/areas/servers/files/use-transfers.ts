import { createTransfers, type FileTransfers } from '@portcullis/client/transfers.ts';
import { useMemo } from 'react';
import { useSession } from '../../../session/session.ts';

/** The client of the session for bytes of files. */
export function useTransfers(): FileTransfers {
  const { identity, organisation } = useSession();
  return useMemo(() => {
    const baseUrl = location.origin;
    if (identity.kind === 'key') return createTransfers({ baseUrl, key: identity.key });
    return createTransfers({ baseUrl, organisation: organisation ?? '' });
  }, [identity, organisation]);
}
