export { SftpLogins } from './logins.ts';
export { sftpAccessHandlers } from './own-access.ts';
