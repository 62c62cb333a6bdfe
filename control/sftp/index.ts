import type { Handlers } from '../http/operations/handlers.ts';
import { type OwnAccessNames, sftpAccessHandlers } from './own-access.ts';
import { sftpPlaceHandlers } from './place.ts';

export { SftpLogins } from './logins.ts';

/** The operations on SFTP: what a person connects by, and where. */
export function sftpHandlers(): Pick<Handlers, OwnAccessNames | 'readServerSftp'> {
  return { ...sftpAccessHandlers(), ...sftpPlaceHandlers() };
}
