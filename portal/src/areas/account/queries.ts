import { useQuery } from '@tanstack/react-query';
import { personClient } from '../../session/session.ts';

/** SSH keys and SFTP passwords of the person. */
export function useSftpAccess() {
  return useQuery({
    queryKey: ['account', 'sftp'],
    queryFn: async ({ signal }) => (await personClient.readSftpAccess({}, { signal })).data,
  });
}

/** Second factors and passkeys of whoever is signed in. */
export function useAccount() {
  return useQuery({
    queryKey: ['account'],
    queryFn: async ({ signal }) => (await personClient.readAccount({}, { signal })).data,
  });
}
