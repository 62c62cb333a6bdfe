/**
 * The transport of one host: a Unix domain socket. It serves the children of one supervisor and separate
 * units alike; the file's permissions are the authentication.
 */
export { connectIpc } from './ipc-agent.ts';
export { serveIpc } from './ipc-control.ts';
